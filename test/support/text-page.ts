/** The items in a page that the store has returned as text. */
import type { TextPage } from '../../src/platform/store/page-text.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
export function itemsOf({ itemTexts }: TextPage): any[] {
  return JSON.parse(`[${itemTexts.join('')}]`)
}
