/**
 * The faults that a test venue can inject into its outgoing frames: one symbol's frames are dropped, duplicated,
 * damaged or swapped, one at a time. A fault that no connector could detect is postponed until a frame whose loss is
 * detectable.
 */
import type { Script, SentFrame } from './script.ts'

export type FrameFault = 'dropped' | 'doubled' | 'corrupted' | 'reordered'

export interface ArmedFault {
  readonly kind: FrameFault
  /** Any symbol when absent. */
  readonly symbol?: string
  /** Any channel when absent. */
  readonly channel?: string
  /** Selects one of the corruptions offered by the venue; 0 when absent. */
  readonly variant?: number
}

export class FaultGate {
  /** The injected faults, in order. */
  readonly done: (ArmedFault & { readonly symbol: string; readonly channel: string; readonly text: string })[] = []
  readonly #armed: ArmedFault[] = []
  /** Delayed frames that follow the next one on their channel. */
  #heldBack: { readonly symbol: string; readonly outgoing: SentFrame }[] = []

  /** Applies the fault to the next matching frame. */
  arm(fault: ArmedFault): void {
    this.#armed.push(fault)
  }

  /** Drops the faults that have found no frame yet. */
  disarm(): void {
    this.#armed.length = 0
  }

  /** Returns the frames to send instead of this frame. */
  pass(script: Script, outgoing: SentFrame): readonly SentFrame[] {
    const { symbol } = script
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
        const damages = script.corruptions(outgoing.text)
        return [{ ...outgoing, text: damages[(fault.variant ?? 0) % damages.length] as string }]
      }
      case 'reordered':
        this.#heldBack.push({ symbol, outgoing })
        return []
    }
  }

  /** Returns a symbol's delayed frames, or those on one of its channels, and delays none from now on. */
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
