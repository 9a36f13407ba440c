/**
 * Encodes the proofs (`Proof`) of all books written by a process. They are sent beside its heartbeats, on their own
 * subject, so a release that does not know them is not disturbed. The epoch identifies the sequencer. Pure.
 */
import { PROOFS, type Proof } from '../market/event.ts'
import { BusFormatError, ByteWriter } from './bus-bytes.ts'
import { BUS_FORMAT, decode } from './bus-codec.ts'

export interface MarketProof {
  readonly market: string
  readonly epoch: string
  readonly proof: Proof
}

export function encodeProofs(proofs: readonly MarketProof[]): Buffer {
  const writer = new ByteWriter()
  writer.byte(BUS_FORMAT)
  writer.integer(proofs.length)
  for (const { market, epoch, proof } of proofs) {
    writer.text(market)
    writer.text(epoch)
    writer.byte(PROOFS.indexOf(proof))
  }
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodeProofs(bytes: Buffer): readonly MarketProof[] {
  return decode(bytes, (reader) =>
    reader.list(() => {
      const [market, epoch, proof] = [reader.text(), reader.text(), PROOFS[reader.byte()]]
      if (proof === undefined) throw new BusFormatError('there is no such proof')
      return { market, epoch, proof }
    }),
  )
}
