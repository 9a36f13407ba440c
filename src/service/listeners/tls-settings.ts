/**
 * The settings `http.tls.*`, `operator.tls.*` and `ingest.tls.*`, and the files that they name: the files for a
 * listener, and the setting to report for an unusable file.
 */
import { readTlsFiles, TlsFileError, type TlsFiles } from '../../platform/http/tls.ts'
import type { Check } from '../config/problem-list.ts'
import type { Config, SettingKey } from '../config/settings.ts'

/** The public listener's certificate and key files. Undefined when it serves plain HTTP. */
export function tlsFilesOf(config: Config): TlsFiles | undefined {
  const certFile = config['http.tls.cert_file']
  const keyFile = config['http.tls.key_file']
  return certFile === '' ? undefined : { certFile, keyFile }
}

export function tlsSettingOf({ part }: TlsFileError): SettingKey {
  return part === 'certFile' ? 'http.tls.cert_file' : 'http.tls.key_file'
}

/** The ingest listener's files. Undefined without it, and when it serves plain HTTP. */
export function ingestTlsFilesOf(config: Config): TlsFiles | undefined {
  const certFile = config['ingest.tls.cert_file']
  if (config['ingest.port'] === '' || certFile === '') return undefined
  const clientCaFile = config['ingest.tls.client_ca_file']
  const files = { certFile, keyFile: config['ingest.tls.key_file'] }
  return clientCaFile === '' ? files : { ...files, clientCaFile }
}

const INGEST_SETTINGS: Readonly<Record<keyof TlsFiles, SettingKey>> = {
  certFile: 'ingest.tls.cert_file',
  keyFile: 'ingest.tls.key_file',
  clientCaFile: 'ingest.tls.client_ca_file',
}

export function ingestTlsSettingOf({ part }: TlsFileError): SettingKey {
  return INGEST_SETTINGS[part]
}

/** The operator listener's files. Undefined when it serves plain HTTP. */
export function operatorTlsFilesOf(config: Config): TlsFiles | undefined {
  const certFile = config['operator.tls.cert_file']
  return certFile === '' ? undefined : { certFile, keyFile: config['operator.tls.key_file'] }
}

export function operatorTlsSettingOf({ part }: TlsFileError): SettingKey {
  return part === 'certFile' ? 'operator.tls.cert_file' : 'operator.tls.key_file'
}

/**
 * Reads all listeners' files as a start does.
 * @param origins where each value comes from: flag, variable, file or default
 */
export function checkTlsFiles(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  nowMilliseconds: number,
): Check {
  const read = (files: TlsFiles | undefined, settingOf: (error: TlsFileError) => SettingKey): Check => {
    if (files === undefined) return { problems: [], warnings: [] }
    try {
      return { problems: [], warnings: readTlsFiles(files, nowMilliseconds).warnings }
    } catch (error) {
      if (!(error instanceof TlsFileError)) throw error
      const key = settingOf(error)
      return { problems: [{ key, origin: origins[key], message: `names ${error.message}` }], warnings: [] }
    }
  }
  const all = [
    read(tlsFilesOf(config), tlsSettingOf),
    read(operatorTlsFilesOf(config), operatorTlsSettingOf),
    read(ingestTlsFilesOf(config), ingestTlsSettingOf),
  ]
  return {
    problems: all.flatMap(({ problems }) => problems),
    warnings: all.flatMap(({ warnings }) => warnings),
  }
}
