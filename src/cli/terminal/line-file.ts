/** Writes a new text file line by line. It ends with a whole line, also when the disk is full. */
import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { fileErrorText } from '../../platform/base/regular-file.ts'

export class LineFile {
  readonly #path: string
  readonly #descriptor: number
  readonly #onFailure: () => void
  #bytes = 0
  #failure: Error | undefined

  /**
   * Creates the file for its owner alone. An existing one is not replaced.
   * @param onFailure called once, when nothing more will be written
   */
  constructor(path: string, onFailure: () => void) {
    this.#path = path
    this.#onFailure = onFailure
    try {
      this.#descriptor = openSync(path, 'wx', 0o600)
    } catch (error) {
      throw new Error(`${path} cannot be created: ${fileErrorText(error)}`)
    }
  }

  add(line: string): void {
    if (this.#failure !== undefined) return
    const bytes = Buffer.from(`${line}\n`)
    try {
      writeFileSync(this.#descriptor, bytes)
      this.#bytes += bytes.length
    } catch (error) {
      this.#failure = new Error(`${this.#path} cannot be written any more: ${fileErrorText(error)}`)
      this.#cut()
      this.#onFailure()
    }
  }

  /** @throws {Error} when a line could not be written */
  close(): void {
    closeSync(this.#descriptor)
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Removes the part of a line that was written. */
  #cut(): void {
    try {
      ftruncateSync(this.#descriptor, this.#bytes)
    } catch {
      // The error before is reported.
    }
  }
}
