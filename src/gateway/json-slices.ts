/** The parts of a request that its reply repeats byte for byte. Pure. */
import { elementTexts, memberTexts } from '../base/json-text.ts'

/** The text `"type":…,"params":…` (each only when sent) of every entry of the request's `channels`. */
export function entryEchoes(request: string): string[] {
  const channels = memberTexts(request).get('channels') as string
  return elementTexts(channels).map((entry) => {
    const members = memberTexts(entry)
    const parts: string[] = []
    for (const name of ['type', 'params']) {
      const value = members.get(name)
      if (value !== undefined) parts.push(`"${name}":${value}`)
    }
    return parts.join()
  })
}
