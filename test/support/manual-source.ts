/** A source without a connection: a test sends events to its markets' listeners, and reads its calls. */
import type { Instrument, Proof } from '../../src/streaming/market/event.ts'
import type { Source, SourceMarket } from '../../src/streaming/sources/source.ts'

export class ManualSource implements Source {
  readonly calls: string[] = []
  readonly markets: SourceMarket[]
  notes: readonly string[] = []
  proves: Proof = 'SEQUENCE'
  trading: Instrument | undefined
  constructor(markets: readonly SourceMarket[]) {
    this.markets = [...markets]
  }
  add(market: SourceMarket): void {
    this.calls.push(`add ${market.market.symbol}`)
    this.markets.push(market)
  }
  remove({ market }: SourceMarket): void {
    this.calls.push(`remove ${market.symbol}`)
  }
  instrument(): Instrument | undefined {
    return this.trading
  }
  proof(): Proof {
    return this.proves
  }
  notices(): readonly string[] {
    return this.notes
  }
  start(): void {
    this.calls.push('start')
  }
  stop(): Promise<void> {
    this.calls.push('stop')
    return Promise.resolve()
  }
  rebuild({ market }: SourceMarket): void {
    this.calls.push(`rebuild ${market.symbol}`)
  }
}
