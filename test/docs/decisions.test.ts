/** The head of each decision: a numbered title, the date of the decision, and its status. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const FOLDER = join(import.meta.dirname, '../../docs/decisions')
const DECISIONS = readdirSync(FOLDER).filter((name) => name.endsWith('.md'))

it.each(DECISIONS)('the decision %s begins with its number, a date and a status', (name) => {
  const [title, blank, date, status] = readFileSync(join(FOLDER, name), 'utf8').split('\n')
  expect(title).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. \\S`))
  expect(blank).toBe('')
  expect(date).toMatch(/^- \*\*Date:\*\* \d{4}-\d{2}-\d{2}(, amended \d{4}-\d{2}-\d{2})?$/)
  expect(status).toMatch(/^- \*\*Status:\*\* (accepted|superseded by \[decision \d+\]\([\w-]+\.md\))/)
})
