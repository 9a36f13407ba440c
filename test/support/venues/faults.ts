/**
 * What a test venue can be told to do wrong on its way out: the frames of one symbol are dropped, doubled, damaged or
 * swapped, one at a time. Faults that no connector could notice are not done: they wait for a frame whose loss shows.
 */
import type { Script, SentFrame } from './script.ts'

export type FrameFault = 'dropped' | 'doubled' | 'corrupted' | 'reordered'

export interface ArmedFault {
  readonly kind: FrameFault
  /** Any symbol when absent. */
  readonly symbol?: string
  /** Any channel when absent. */
  readonly channel?: string
  /** Picks one of the damages that the venue offers; 0 when absent. */
  readonly variant?: number
}

export class FaultGate {
  /** What was done, in order. */
  readonly done: (ArmedFault & { readonly symbol: string; readonly channel: string; readonly text: string })[] = []
  readonly #armed: ArmedFault[] = []
  /** Frames that are to follow the next one of their channel. */
  #heldBack: { readonly symbol: string; readonly outgoing: SentFrame }[] = []

  /** The next frame that fits is hit. */
  arm(fault: ArmedFault): void {
    this.#armed.push(fault)
  }

  /** Faults that have found no frame yet are forgotten. */
  disarm(): void {
    this.#armed.length = 0
  }

  /** What is to be sent instead of this frame. */
  pass(score: Script, outgoing: SentFrame): readonly SentFrame[] {
    const { symbol } = score
    if (outgoing.isAside === true) return [outgoing]
    const late = this.release(symbol, outgoing.channel)
    if (late.length > 0) return [outgoing, ...late]
    const place = this.#armed.findIndex((fault) => fits(fault, symbol, outgoing))
    const [fault] = place < 0 ? [] : this.#armed.splice(place, 1)
    if (fault === undefined) return [outgoing]
    this.done.push({ ...fault, symbol, channel: outgoing.channel, text: outgoing.text })
    switch (fault.kind) {
      case 'dropped':
        return []
      case 'doubled':
        return [outgoing, outgoing]
      case 'corrupted': {
        const damages = score.corruptions(outgoing.text)
        return [{ ...outgoing, text: damages[(fault.variant ?? 0) % damages.length] as string }]
      }
      case 'reordered':
        this.#heldBack.push({ symbol, outgoing })
        return []
    }
  }

  /** What is held back of a symbol, or of one of its channels, and from now on no more. */
  release(symbol: string, channel?: string): SentFrame[] {
    const released = this.#heldBack.filter(
      (held) => held.symbol === symbol && (channel === undefined || held.outgoing.channel === channel),
    )
    this.#heldBack = this.#heldBack.filter((held) => !released.includes(held))
    return released.map(({ outgoing }) => outgoing)
  }
}

function fits(fault: ArmedFault, symbol: string, { channel, isMissed }: SentFrame): boolean {
  if (fault.symbol !== undefined && fault.symbol !== symbol) return false
  if (fault.channel !== undefined && fault.channel !== channel) return false
  return isMissed || fault.kind === 'doubled' || fault.kind === 'corrupted'
}
