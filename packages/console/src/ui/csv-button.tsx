/** Saves a whole list with its current filters as CSV, page by page. */
import { useState } from 'preact/hooks'
import { getAll, Problem, type Query } from '../base/api.ts'
import { csvText } from '../base/csv.ts'
import type { ItemOf, ListPath } from '../base/operator-api.ts'
import { saveFile } from '../base/save-file.ts'
import { Icon } from './icons.tsx'
import { report } from './toast.tsx'

/** Larger exports should use the API, which has pages of 1,000. */
const ROWS_MAX = 100_000

export interface CsvColumn<Item> {
  readonly name: string
  readonly text: (item: Item) => string | number | undefined
}

function csvOf<Item>(columns: readonly CsvColumn<Item>[], items: readonly Item[]): string {
  return csvText(
    columns.map(({ name }) => name),
    items.map((item) => columns.map(({ text }) => String(text(item) ?? ''))),
  )
}

export function CsvButton<Path extends ListPath>({
  path,
  query,
  name,
  columns,
}: {
  readonly path: Path
  readonly query: Query
  /** The file's name without its ending. */
  readonly name: string
  readonly columns: readonly CsvColumn<ItemOf<Path>>[]
}) {
  const [isRunning, setRunning] = useState(false)
  const save = async () => {
    setRunning(true)
    try {
      const { items, isComplete } = await getAll(path, query, ROWS_MAX)
      saveFile(`${name}-${new Date().toISOString().slice(0, 10)}.csv`, csvOf(columns, items))
      report(isComplete ? `${items.length} rows saved` : `The first ${ROWS_MAX} rows saved. Filter for the others`)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      report(`Not saved: ${error.message}`, 'bad')
    }
    setRunning(false)
  }
  return (
    <button type="button" onClick={() => void save()} disabled={isRunning}>
      <Icon name="download" /> {isRunning ? 'Reading' : 'CSV'}
    </button>
  )
}

/** The same for rows that the page already has. */
export function CsvOfRows<Item>({
  items,
  name,
  columns,
}: {
  readonly items: readonly Item[]
  readonly name: string
  readonly columns: readonly CsvColumn<Item>[]
}) {
  return (
    <button type="button" disabled={items.length === 0} onClick={() => saveFile(`${name}.csv`, csvOf(columns, items))}>
      <Icon name="download" /> CSV
    </button>
  )
}
