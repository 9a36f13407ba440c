/** The customers whose names begin with what is being typed. */
import { useEffect, useState } from 'preact/hooks'
import { getPage, Problem } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { can } from '../base/session.ts'

const FOUND_MAX = 12
/** Time without a key after which the text is searched for. */
const TYPING_MILLISECONDS = 150

/** Empty without a text. Those of the text before stay until the others are there. */
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
        // What is typed in full is found without it.
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
