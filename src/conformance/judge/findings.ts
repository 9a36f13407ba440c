/** What a check found: the violations counted by rule, with the first examples of each. Pure. */

/** A rule that was violated. The other members describe the rule. */
export interface Finding<Name extends string, Example> {
  readonly name: Name
  count: number
  readonly examples: Example[]
}

export class Findings<Found extends Finding<string, unknown>> {
  readonly #byName = new Map<string, Found>()
  readonly #describe: (name: Found['name']) => Omit<Found, 'count' | 'examples'>
  readonly #examplesKept: number

  constructor(examplesKept: number, describe: (name: Found['name']) => Omit<Found, 'count' | 'examples'>) {
    this.#examplesKept = examplesKept
    this.#describe = describe
  }

  add(name: Found['name'], example: () => Found['examples'][number]): void {
    let finding = this.#byName.get(name)
    if (finding === undefined) {
      finding = { ...this.#describe(name), count: 0, examples: [] } as unknown as Found
      this.#byName.set(name, finding)
    }
    finding.count++
    if (finding.examples.length < this.#examplesKept) finding.examples.push(example())
  }

  has(name: Found['name']): boolean {
    return this.#byName.has(name)
  }

  /** In the order in which they were found first. */
  get all(): readonly Found[] {
    return [...this.#byName.values()]
  }

  /** Violations of all rules. */
  get count(): number {
    return this.all.reduce((sum, { count }) => sum + count, 0)
  }
}
