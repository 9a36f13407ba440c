/** The customers whose names begin with the typed text. */
import { useEffect, useState } from 'preact/hooks'
import { getPage, Problem } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { can } from '../base/session.ts'

const FOUND_MAX = 12
/** The text is searched for after this long without a key press. */
const TYPING_MILLISECONDS = 150

/** Empty without a text. Earlier results stay until the new ones arrive. */
export function useCustomers(text: string): readonly Schema<'Customer'>[] {
  const [found, setFound] = useState<readonly Schema<'Customer'>[]>([])
  useEffect(() => {
    if (text === '' || !can('GET /customers')) return setFound([])
    const abort = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const { items } = await getPage('/customers', { search: text, limit: FOUND_MAX }, abort.signal)
        if (!abort.signal.aborted) setFound(items)
      } catch (error) {
        // A name typed in full is found without the search.
        if (!abort.signal.aborted && !(error instanceof Problem)) throw error
      }
    }, TYPING_MILLISECONDS)
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [text])
  return found
}
