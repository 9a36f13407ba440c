/**
 * The settings `http.tls.*` and the files that they name: the files for the listener, and the setting to report when a file
 * cannot be used.
 */
import type { ConfigProblem } from '../config/problem-list.ts'
import type { Config, SettingKey } from '../config/settings.ts'
import { readTlsFiles, TlsFileError, type TlsFiles } from '../http/tls.ts'

/** The certificate and key files; undefined when the public listener serves plain HTTP. */
export function tlsFilesOf(config: Config): TlsFiles | undefined {
  const certFile = config['http.tls.cert_file']
  const keyFile = config['http.tls.key_file']
  return certFile === '' ? undefined : { certFile, keyFile }
}

export function tlsSettingOf({ part }: TlsFileError): SettingKey {
  return part === 'certFile' ? 'http.tls.cert_file' : 'http.tls.key_file'
}

/**
 * Reads the files as a start does.
 * @param origins the origin of each value: flag, variable, file or default
 */
export function checkTlsFiles(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  nowMilliseconds: number,
): { readonly problems: readonly ConfigProblem[]; readonly warnings: readonly string[] } {
  const files = tlsFilesOf(config)
  if (files === undefined) return { problems: [], warnings: [] }
  try {
    return { problems: [], warnings: readTlsFiles(files, nowMilliseconds).warnings }
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error
    const key = tlsSettingOf(error)
    return { problems: [{ key, origin: origins[key], message: `names ${error.message}` }], warnings: [] }
  }
}
