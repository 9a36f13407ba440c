import { describe, expect, it } from 'vitest'
import { COINBASE } from '../../../../../src/streaming/sources/venues/coinbase/protocol.ts'

describe('the rate of requests to Coinbase', () => {
  it("requests to Coinbase are at most eight in any second, and a start's list, books and trades pass at once", () => {
    const protocol = COINBASE.createProtocol({ restUrl: 'http://127.0.0.1:9' })
    const { burst, perSecond } = protocol.requestRate ?? { burst: Infinity, perSecond: Infinity }
    expect(burst + perSecond).toBeLessThanOrEqual(8)
    const symbols = Array.from({ length: 30 }, (_, index) => `P${index}-USD`)
    const atStart = [
      ...(protocol.open?.() ?? []),
      ...protocol.requests('subscribe', 'book', symbols, Infinity),
      ...protocol.requests('subscribe', 'trades', symbols, 0),
    ]
    expect(atStart.length).toBeLessThanOrEqual(burst)
  })
})
