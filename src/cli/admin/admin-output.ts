/**
 * The operator API's answers as text for people: a list as a table, a record as one line per member. No value can steer
 * the terminal. Pure.
 */
import { isObject } from '../../platform/base/json-value.ts'
import { printable } from '../terminal/styled-line.ts'
import { tableLines } from '../terminal/table.ts'

type Document = Readonly<Record<string, unknown>>

interface ListAnswer {
  readonly items: readonly Document[]
  readonly next_page_cursor?: string
}

/** @param columns item members, where `best_bid.price` is nested. A member without a value is left out. */
export function listText({ items, next_page_cursor: cursor }: ListAnswer, columns: readonly string[]): string {
  if (items.length === 0) return '(none)\n'
  const lines = tableOf(items, columns)
  if (cursor !== undefined) lines.push('', `more: --page-cursor ${printable(cursor)}`)
  return `${lines.join('\n')}\n`
}

/** Members in their order. Record lists follow as tables. */
export function recordText(document: Document): string {
  const rows: string[][] = []
  const tables: string[] = []
  const visit = (members: Document, prefix: string): void => {
    for (const [name, value] of Object.entries(members)) {
      const title = prefix + name.replaceAll('_', ' ')
      if (isRecords(value)) tables.push('', printable(title), ...tableOf(value, columnsOf(value)))
      else if (isObject(value)) visit(value, `${title} `)
      else rows.push([printable(title), cellOf(value)])
    }
  }
  visit(document, '')
  return `${[...tableLines(rows), ...tables].join('\n')}\n`
}

function tableOf(items: readonly Document[], columns: readonly string[]): string[] {
  const shown = columns.filter((column) => items.some((item) => memberOf(item, column) !== undefined))
  const rows = items.map((item) => shown.map((column) => cellOf(memberOf(item, column))))
  return tableLines([shown.map((column) => printable(column.replaceAll(/[._]/g, ' '))), ...rows])
}

function columnsOf(items: readonly Document[]): string[] {
  return [...new Set(items.flatMap((item) => Object.keys(item)))]
}

function isRecords(value: unknown): value is readonly Document[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject)
}

function memberOf(item: Document, column: string): unknown {
  return column.split('.').reduce<unknown>((value, name) => (value as Document | undefined)?.[name], item)
}

function cellOf(value: unknown): string {
  if (value === undefined) return '-'
  if (Array.isArray(value))
    return printable(value.map((entry) => (isObject(entry) ? JSON.stringify(entry) : String(entry))).join(' '))
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
