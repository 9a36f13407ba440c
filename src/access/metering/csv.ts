/** Usage as CSV (RFC 4180), with a header line and the items' members in their order. Pure. */
import { csvField } from '../../platform/base/csv.ts'
import type { UsageItem } from './usage.ts'

export const CSV_MEDIA_TYPE = 'text/csv; charset=utf-8'

export function usageCsv(items: readonly UsageItem[]): string {
  const columns = [...new Set(items.flatMap((item) => Object.keys(item)))] as (keyof UsageItem)[]
  const rows = items.map((item) => columns.map((column) => csvField(String(item[column] ?? ''))).join(','))
  return `${[columns.join(','), ...rows].join('\r\n')}\r\n`
}
