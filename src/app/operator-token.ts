/**
 * The operator's token: the one configured, or 256 random bits in `DATA/operator-token`, which only the owner of the
 * process can read, made once in the life of a data folder. It is never logged.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readOrCreatePrivateFile } from './private-file.ts'

const TOKEN_BYTES = 32
/** A shorter file was cut off or is not ours. */
const TOKEN_CHARACTERS_MIN = 16

/** @param configured the setting `operator.token`; empty: the one in the data folder */
export function readOperatorToken(folder: string, configured: string): string {
  if (configured !== '') return configured
  const path = join(folder, 'operator-token')
  const token = readOrCreatePrivateFile(path, () => `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`).trim()
  if (!/^[!-~]+$/.test(token) || token.length < TOKEN_CHARACTERS_MIN) {
    throw new Error(`${path} is damaged: delete it, and a new token is made at the next start`)
  }
  return token
}
