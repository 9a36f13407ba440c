/**
 * A Parquet table file, written by `hyparquet-writer`: times as INT64, prices and amounts as DECIMAL(38, 18), which is
 * exact for every market. The scale is the same in all files, because readers apply the first file's scale to several:
 * DuckDB rounds the others' numbers to it. It holds one row group.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { assert } from '../../../platform/base/assert.ts'
import { formatDecimal } from '../../../platform/base/decimal.ts'
import type { TableFile } from './csv-file.ts'
import type { CellValue, Column, ColumnKind, DecimalValue } from './tables.ts'

/** Digits in a 128-bit DECIMAL. */
const PRECISION = 38
/** The most decimals a market can have. */
const SCALE = 18
/** By a market's decimals: the factor that scales its integers to `SCALE`. */
const FACTORS = Array.from({ length: SCALE + 1 }, (_, decimals) => 10n ** BigInt(SCALE - decimals))
const DECIMAL_MAX = 10n ** BigInt(PRECISION) - 1n

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema']
type SchemaElement = Schema[number]

/** @param rowsMax rows per row group */
export async function createParquetFile(path: string, columns: readonly Column[], rowsMax: number): Promise<TableFile> {
  return new ParquetFile(await open(path, 'wx'), columns, rowsMax)
}

class ParquetFile implements TableFile {
  readonly #file: FileHandle
  readonly #columns: readonly Column[]
  readonly #rowsMax: number
  readonly #bytes = new ByteWriter()
  readonly #writer: ParquetWriter
  #data: unknown[][]
  #rows = 0

  constructor(file: FileHandle, columns: readonly Column[], rowsMax: number) {
    this.#file = file
    this.#columns = columns
    this.#rowsMax = rowsMax
    this.#data = columns.map(() => [])
    const schema = [{ name: 'root', num_children: columns.length }, ...columns.map(elementOf)]
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema, createdBy: 'tidegate' })
  }

  get isFull(): boolean {
    return this.#rows >= this.#rowsMax
  }

  add(cells: readonly CellValue[]): void {
    for (const [index, cell] of cells.entries()) this.#data[index]?.push(parquetValue(cell))
    this.#rows += 1
  }

  async flush(): Promise<void> {
    if (this.#rows === 0) return
    const columnData = this.#columns.map(({ name }, index) => ({ name, data: this.#data[index] ?? [] }))
    await this.#writer.write({ columnData, rowGroupSize: this.#rows })
    this.#data = this.#columns.map(() => [])
    this.#rows = 0
    await this.#writeBytes()
  }

  async close(): Promise<void> {
    try {
      await this.flush()
      await this.#writer.finish()
      await this.#writeBytes()
    } finally {
      await this.#file.close()
    }
  }

  /** `offset` counts the whole file's bytes. The buffer has the unwritten ones. */
  async #writeBytes(): Promise<void> {
    await this.#file.writeFile(new Uint8Array(this.#bytes.buffer, 0, this.#bytes.index))
    this.#bytes.index = 0
  }
}

const ELEMENTS: Readonly<Record<ColumnKind, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  boolean: { type: 'BOOLEAN' },
  microseconds: { type: 'INT64' },
  decimal: {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: 16,
    converted_type: 'DECIMAL',
    precision: PRECISION,
    scale: SCALE,
  },
}

function elementOf({ name, kind, isOptional }: Column): SchemaElement {
  return { name, ...ELEMENTS[kind], repetition_type: isOptional === true ? 'OPTIONAL' : 'REQUIRED' }
}

function parquetValue(cell: CellValue): unknown {
  if (typeof cell === 'number') return BigInt(cell)
  return typeof cell === 'object' ? decimalValue(cell) : cell
}

/** @throws {Error} for a number that is too large */
function decimalValue({ unscaled, scale }: DecimalValue): bigint {
  const factor = FACTORS[scale]
  assert(factor !== undefined, 'a market has at most 18 decimals')
  const value = BigInt(unscaled) * factor
  if (value <= DECIMAL_MAX) return value
  const number = formatDecimal(unscaled, scale)
  throw new Error(`${number} has more than ${PRECISION - SCALE} digits before the decimal point: export it as csv`)
}
