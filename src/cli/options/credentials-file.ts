/**
 * The file written by `admin client create --credentials`, in the format for `watch`, `verify` and the examples. Only
 * its owner can read it. An existing file is never replaced. The file is created before the client, so a wrong path
 * costs no secret. On a full disk, the error says how to create another one.
 */
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { addressesAt, type ServiceAddresses } from '../../access/clients/operator-answers.ts'
import { fileErrorText } from '../../platform/base/regular-file.ts'
import type { Config } from '../../service/config/settings.ts'
import { addressText, reachable } from './listener-address.ts'

export interface CreatedClient {
  readonly client_id: string
  readonly client_secret: string
  readonly scopes: readonly string[]
}

export interface ReservedFile {
  write(client: CreatedClient, addresses: ServiceAddresses): void
  /** Removes the file when there is nothing to write. */
  release(): void
}

export function reserveCredentialsFile(path: string): ReservedFile {
  let descriptor: number
  try {
    descriptor = openSync(path, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new Error(`${path} exists: name another file, or delete it`)
    throw new Error(`${path} cannot be written (${code}): name another file`)
  }
  const release = (): void => {
    closeSync(descriptor)
    rmSync(path, { force: true })
  }
  return {
    write({ client_id, client_secret, scopes }, addresses) {
      try {
        writeFileSync(descriptor, `${JSON.stringify({ client_id, client_secret, scopes, ...addresses }, null, 2)}\n`)
      } catch (error) {
        release()
        throw new Error(
          `the client was created, but its secret could not be written to ${path} (${fileErrorText(error)}): ` +
            `create another with tidegate admin secret create ${client_id}`,
        )
      }
      closeSync(descriptor)
    },
    release,
  }
}

/** @param url the public address for the service and its stream. Absent = the configured ones */
export function serviceAddresses(config: Config, url?: string): ServiceAddresses {
  if (url === undefined) return addressesAt(configuredUrl(config), config['stream.public_url'] || ownStreamUrl(config))
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Error(`--url '${url}' is not an http address`)
  return addressesAt(url)
}

function configuredUrl(config: Config): string {
  if (config['http.public_url'] !== '') return config['http.public_url']
  return urlAt(config, 'http', 'http.port', config['http.port'])
}

/** Empty where the stream has no port of its own. */
function ownStreamUrl(config: Config): string {
  const port = config['stream.port']
  return port === '' ? '' : urlAt(config, 'ws', 'stream.port', port)
}

function urlAt(config: Config, scheme: 'http' | 'ws', key: 'http.port' | 'stream.port', port: number): string {
  if (port === 0) throw new Error(`${key} is 0, so --url is required`)
  const ending = config['http.tls.cert_file'] === '' ? '' : 's'
  return `${scheme}${ending}://${addressText(reachable(config['http.host']), port)}`
}
