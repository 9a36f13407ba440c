/**
 * A table file of Parquet, written by `hyparquet-writer`: times as INT64, prices and amounts as DECIMAL(38, scale), which is
 * exact. It holds one row group.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { MarketDefinition } from '../../market/event.ts'
import type { TableFile } from './csv-file.ts'
import type { CellValue, Column, ColumnKind } from './tables.ts'

/** Digits of a 128-bit DECIMAL. */
const PRECISION = 38
const DECIMAL_MAX = 10n ** BigInt(PRECISION) - 1n

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema']
type SchemaElement = Schema[number]

/** @param rowsMax rows of a row group */
export async function createParquetFile(
  path: string,
  columns: readonly Column[],
  market: MarketDefinition,
  rowsMax: number,
): Promise<TableFile> {
  return new ParquetFile(await open(path, 'wx'), columns, market, rowsMax)
}

class ParquetFile implements TableFile {
  readonly #file: FileHandle
  readonly #columns: readonly Column[]
  readonly #rowsMax: number
  readonly #bytes = new ByteWriter()
  readonly #writer: ParquetWriter
  #data: unknown[][]
  #rows = 0

  constructor(file: FileHandle, columns: readonly Column[], market: MarketDefinition, rowsMax: number) {
    this.#file = file
    this.#columns = columns
    this.#rowsMax = rowsMax
    this.#data = columns.map(() => [])
    const schema = [
      { name: 'root', num_children: columns.length },
      ...columns.map((column) => elementOf(column, market)),
    ]
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

  /** `offset` counts the bytes of the whole file; the buffer has those that are not written yet. */
  async #writeBytes(): Promise<void> {
    await this.#file.writeFile(new Uint8Array(this.#bytes.buffer, 0, this.#bytes.index))
    this.#bytes.index = 0
  }
}

function elementOf(
  { name, kind, isOptional }: Column,
  { priceDecimals, amountDecimals }: MarketDefinition,
): SchemaElement {
  const decimal = (scale: number): Omit<SchemaElement, 'name'> => ({
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: 16,
    converted_type: 'DECIMAL',
    precision: PRECISION,
    scale,
  })
  const kinds: Readonly<Record<ColumnKind, Omit<SchemaElement, 'name'>>> = {
    text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
    boolean: { type: 'BOOLEAN' },
    microseconds: { type: 'INT64' },
    price: decimal(priceDecimals),
    amount: decimal(amountDecimals),
  }
  return { name, ...kinds[kind], repetition_type: isOptional === true ? 'OPTIONAL' : 'REQUIRED' }
}

/** @throws {Error} for a number of more than 38 digits */
function parquetValue(cell: CellValue): unknown {
  if (typeof cell === 'number') return BigInt(cell)
  if (typeof cell !== 'object') return cell
  const unscaled = BigInt(cell.unscaled)
  if (unscaled > DECIMAL_MAX) throw new Error(`${unscaled} has more than ${PRECISION} digits: export it as csv`)
  return unscaled
}
