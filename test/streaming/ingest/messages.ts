/** Parsed messages of a publisher for tests: of the market BTCUSD and the epoch `e1`, where nothing else is said. */
import type {
  InstrumentMessage,
  LostMessage,
  PublishedInstrument,
  SnapshotMessage,
  UpdateMessage,
} from '../../../src/streaming/sources/publication/message.ts'

interface Changes {
  readonly epoch?: string
  readonly amount?: string
}

const INSTRUMENT: PublishedInstrument = {
  priceDecimals: 2,
  amountDecimals: 8,
  state: 'OPEN',
  reason: '',
  simulated: false,
}

function numbered(seq: number, epoch = 'e1') {
  return { market: 'BTCUSD', timeMilliseconds: seq, epoch, seq, origin: undefined }
}

export function snapshotMessage(seq: number, { epoch, amount = '1' }: Changes = {}): SnapshotMessage {
  const bids = [{ price: '100.00', amount }]
  return {
    type: 'SNAPSHOT',
    ...numbered(seq, epoch),
    prev: undefined,
    instrument: INSTRUMENT,
    bids,
    asks: [],
    orders: undefined,
  }
}

export function updateMessage(seq: number, { epoch, amount = String(seq) }: Changes = {}): UpdateMessage {
  const content = {
    bids: [{ price: '99.50', amount }],
    asks: [],
    executions: [],
    orders: undefined,
    missed: undefined,
    instrument: undefined,
  }
  return { type: 'UPDATE', ...numbered(seq, epoch), prev: seq - 1, ...content }
}

export function instrumentMessage(seq: number, state: PublishedInstrument['state'] = 'OPEN'): InstrumentMessage {
  return { type: 'INSTRUMENT', ...numbered(seq), prev: seq - 1, instrument: { ...INSTRUMENT, state } }
}

export function lostMessage(seq: number): LostMessage {
  return { type: 'LOST', ...numbered(seq), reason: 'no upstream' }
}
