/** The endpoint of webhooks that a check tests: its address, and the secrets that sign the requests. */
import { readFileSync } from 'node:fs'
import { fileErrorText } from '../../platform/base/regular-file.ts'
import { isLoopbackHost } from '../../platform/webhooks/addresses.ts'
import { secretsOf } from '../../platform/webhooks/signature.ts'

export function endpointAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isAccepted = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url))
  if (url === undefined || !isAccepted) throw new Error('URL must be an https address, or http to this machine')
  if (url.username + url.password !== '') throw new Error('URL must not contain a user name or password')
  return text
}

/** @param path from `--secret-file` */
export function readSecrets(path: string): readonly string[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`--secret-file cannot be read from ${path}: ${fileErrorText(error)}`)
  }
  const secrets = secretsOf(text)
  if (secrets === undefined || secrets.length === 0) {
    throw new Error(`--secret-file: ${path} does not contain a secret: whsec_ and 24 to 64 bytes in base64`)
  }
  return secrets
}
