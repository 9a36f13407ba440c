/**
 * The operator token: the setting `operator.token`, or 256 random bits in `DATA/operator-token`. The file is made once
 * in the life of a data folder, and only the process's user can read it. The token is never logged.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readOrCreatePrivateFile } from './private-file.ts'

const TOKEN_BYTES = 32
/** A shorter file was truncated or was not written by this program. */
const TOKEN_CHARACTERS_MIN = 16

/** @param configured the setting `operator.token`, empty = read it from the data folder */
export function readOperatorToken(folder: string, configured: string): string {
  if (configured !== '') return configured
  const path = join(folder, 'operator-token')
  const token = readOrCreatePrivateFile(path, () => `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`).trim()
  if (!/^[!-~]+$/.test(token) || token.length < TOKEN_CHARACTERS_MIN) {
    throw new Error(`${path} is damaged: delete it, and a new token is made at the next start`)
  }
  return token
}
