/**
 * Whether a record is the one that a request creates. The service shows some members in another form than requested:
 * amounts without trailing zeros, bank numbers masked, addresses, ids and names of networks in their canonical form.
 * Pure.
 */

/** Network names which requests may use and records do not. */
const NETWORK_ALIASES: Readonly<Record<string, string>> = { POLYGON: 'POLYGON_POS' }
/** Not every record shows them. */
const PARTIES = 'parties'
const MASK = '****'

/** An address whose capital letters matter, or an id: no other form of it is shown. */
const EXACT = /^[1-9A-HJ-NP-Za-km-z]{25,44}$/
/** They name who is paid at a shared account, so they are compared as they are. */
const MEMOS: readonly string[] = ['memo', 'memo_id']

/** Whether the record has every requested member. It may have more. */
export function isRecordOf(record: unknown, requested: unknown): boolean {
  if (typeof requested === 'string') return typeof record === 'string' && isSameText(record, requested)
  if (typeof requested !== 'object' || requested === null) return record === requested
  if (typeof record !== 'object' || record === null) return false
  const members = record as Record<string, unknown>
  return Object.entries(requested).every(([name, value]) => {
    const isHidden = value === undefined || (name === PARTIES && members[name] === undefined)
    return isHidden || (MEMOS.includes(name) ? members[name] === value : isRecordOf(members[name], value))
  })
}

function isSameText(shown: string, requested: string): boolean {
  if (EXACT.test(shown)) return shown === requested.trim()
  const [left, right] = [canonical(shown), canonical(requested)]
  return shown.startsWith(MASK) ? right.endsWith(left.slice(MASK.length)) : left === right
}

/** Without case and blanks. */
function canonical(text: string): string {
  const plain = text.replace(/\s/g, '').toUpperCase()
  if (/^\d+\.\d+$/.test(plain)) return plain.replace(/\.?0+$/, '')
  return NETWORK_ALIASES[plain] ?? plain.replace(/^BITCOINCASH:/, '')
}
