/** A stream whose clients have plans, which the test changes. */
import type { HeldPlan, HeldPlans, Plan } from '../../../src/access/clients/plans/plan.ts'
import { LiveStream } from './live-stream.ts'

const ALL = { all: true, customerIds: new Set<string>(), clientIds: new Set<string>() }

export class PlannedStream extends LiveStream {
  #plans: HeldPlans = []

  constructor(options: ConstructorParameters<typeof LiveStream>[0] = {}) {
    super({ depth: 0, ...options, plansOf: () => this.#plans })
  }

  /** The customer's plan, and the client's own. */
  plan(...plans: readonly Omit<Plan, 'name'>[]): void {
    const names = ['customer', 'client'] as const
    this.#plans = plans.map((plan, at): HeldPlan => {
      const holder = names[at] ?? 'client'
      return { plan: { name: `the-${holder}s`, ...plan }, holder, holderId: holder }
    })
    this.hub.applyAccess(() => undefined, ALL)
    this.clock.settle()
  }
}
