/**
 * The limit on control frames (ping, pong) for one WebSocket connection: their handling costs more than their bytes.
 */

/** Control frames that a peer may send in one second. More is a flood (close code 1008). */
const CONTROL_FRAMES_PER_SECOND_MAX = 100

export class ControlFrames {
  #second = 0
  #count = 0

  /** Counts a frame. False: it is one too many in its second. */
  admit(monotonicMilliseconds: number): boolean {
    const second = Math.floor(monotonicMilliseconds / 1000)
    if (second !== this.#second) this.#count = 0
    this.#second = second
    this.#count += 1
    return this.#count <= CONTROL_FRAMES_PER_SECOND_MAX
  }
}
