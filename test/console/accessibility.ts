/** Faults of accessibility of the page that is shown, as axe finds them. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** The part of axe that runs inside the page. */
interface Axe {
  run(): Promise<{ violations: { id: string; help: string; nodes: { target: string[] }[] }[] }>
}

/** One line for each fault: its rule and the elements. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Evaluated by the debugger: the policy of the page permits no other script.
  await page.evaluate(AXE)
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: Axe }).axe.run())
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  )
}
