/** Runs work, a limited number at a time. Further work waits in order. */
export class Turns {
  readonly #parallelMax: number
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(parallelMax: number) {
    this.#parallelMax = parallelMax
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#parallelMax) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running += 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
