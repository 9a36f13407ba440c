/**
 * A CSV table file with a header line, plain or gzip. It holds a megabyte of text, and writes it before it takes more.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type CellValue, type Column, csvLine } from './tables.ts'

const compress = promisify(gzip)

const CHUNK_CHARACTERS = 1_048_576

/** A file that takes rows. When it `isFull`, `flush` must be awaited before more rows are added. */
export interface TableFile {
  readonly isFull: boolean
  add(cells: readonly CellValue[]): void
  flush(): Promise<void>
  /** Resolves when everything is in the file. */
  close(): Promise<void>
}

export async function createCsvFile(path: string, columns: readonly Column[], isZipped: boolean): Promise<TableFile> {
  return new CsvFile(await open(path, 'wx'), columns, isZipped)
}

class CsvFile implements TableFile {
  readonly #file: FileHandle
  readonly #isZipped: boolean
  #lines: string[]
  #characters = 0

  constructor(file: FileHandle, columns: readonly Column[], isZipped: boolean) {
    this.#file = file
    this.#isZipped = isZipped
    this.#lines = [csvLine(columns.map(({ name }) => name))]
  }

  get isFull(): boolean {
    return this.#characters >= CHUNK_CHARACTERS
  }

  add(cells: readonly CellValue[]): void {
    const line = csvLine(cells)
    this.#lines.push(line)
    this.#characters += line.length
  }

  async flush(): Promise<void> {
    const text = this.#lines.join('')
    this.#lines = []
    this.#characters = 0
    if (text === '') return
    // Every gzip reader treats a file with several members as one file.
    await this.#file.writeFile(this.#isZipped ? await compress(text) : text)
  }

  async close(): Promise<void> {
    try {
      await this.flush()
    } finally {
      await this.#file.close()
    }
  }
}
