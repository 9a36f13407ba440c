/**
 * The operator's token: the one configured, or 256 random bits in `DATA/operator-token`, which only the owner of the
 * process can read, made once in the life of a data folder. It is never logged.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const TOKEN_BYTES = 32
/** A shorter file was cut off or is not ours. */
const TOKEN_CHARACTERS_MIN = 16

/** @param configured the setting `operator.token`; empty: the one in the data folder */
export function readOperatorToken(folder: string, configured: string): string {
  if (configured !== '') return configured
  const path = join(folder, 'operator-token')
  createOnce(path, `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`)
  const token = readFileSync(path, 'utf8').trim()
  if (!/^[!-~]+$/.test(token) || token.length < TOKEN_CHARACTERS_MIN) {
    throw new Error(`${path} is damaged: delete it, and a new token is made at the next start`)
  }
  return token
}

/** A link is made whole or not at all, and never over a file that is there. */
function createOnce(path: string, text: string): void {
  const temporary = `${path}.new`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  // What the process' mask takes away from 0600 would lock us out ourselves.
  chmodSync(temporary, 0o600)
  try {
    linkSync(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
