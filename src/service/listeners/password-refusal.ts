/** Whether people can sign in to the operator listener with a password from other machines, by the settings alone. */
import { isLoopbackAddress, isLoopbackHost } from '../../platform/http/host-check.ts'
import type { Config } from '../config/settings.ts'

/** Why the listener accepts no logins from other machines, and how to change it. Undefined when it accepts them. */
export function passwordRefusal(config: Config): string | undefined {
  const host = config['operator.host']
  if (isLoopbackAddress(host) || isLoopbackHost(host)) return undefined
  if (config['operator.tls.cert_file'] !== '' || config['operator.public_url'] !== '') return undefined
  return (
    'the operator listener is reachable from other machines without TLS, and refuses passwords from them: set ' +
    'operator.tls.cert_file and operator.tls.key_file, or operator.public_url with the TLS proxy in http.trusted_proxies'
  )
}
