/**
 * An executor that makes outgoing payments, over HTTP with its own token. It claims up to 100 deliveries and settles
 * each one with its own request, several at once. It pays none twice.
 */
import type { Api } from './served-program.ts'

const LIMIT = 100
/** Concurrent requests. */
const SETTLING = 30
/** Short enough that other measurements do not notice it. */
const IDLE_MILLISECONDS = 100

interface Claimed {
  readonly id: string
  readonly attempt: number
}

export class ClaimingExecutor {
  /** The references of its payments. */
  readonly references: string[] = []
  readonly #api: Api
  readonly #name: string
  readonly #paid = new Set<string>()
  #isStopped = false
  #running: Promise<void> | undefined

  constructor(api: Api, name: string) {
    this.#api = api
    this.#name = name
  }

  start(): void {
    this.#isStopped = false
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    const claim = { executor: this.#name, limit: LIMIT, lease_seconds: 60 }
    while (!this.#isStopped) {
      const { items } = await this.#api.call<{ items: Claimed[] }>('POST', '/deliveries/claim', claim)
      const left = items.values()
      const settleRest = async () => {
        for (const delivery of left) await this.#settle(delivery)
      }
      await Promise.all(Array.from({ length: SETTLING }, settleRest))
      if (items.length === 0) await new Promise((resolve) => setTimeout(resolve, IDLE_MILLISECONDS))
    }
  }

  async #settle({ id, attempt }: Claimed): Promise<void> {
    if (this.#paid.has(id)) throw new Error(`the delivery ${id} was handed out twice`)
    this.#paid.add(id)
    const reference = `payment of ${id}`
    await this.#api.call('POST', `/deliveries/${id}/settle`, { reference, attempt })
    this.references.push(reference)
  }
}
