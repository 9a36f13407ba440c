/**
 * PostgreSQL query plans: the statements themselves are explained with their buffer counts, on the connection that runs
 * them.
 */
import type { StatementOutcome } from '../../src/platform/store/caller-connection.ts'
import { PostgresConnection } from '../../src/platform/store/postgres-connection.ts'

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

export interface Explained {
  readonly text: string
  readonly plan: PlanNode
  readonly milliseconds: number
}

export interface ExplainedStatements {
  /** The matching statements' totals while this ran. */
  during<Answer>(
    work: () => Promise<Answer>,
  ): Promise<{ readonly answer: Answer; readonly found: readonly Explained[] }>
  stop(): void
}

/** Explains matching statements before they run, on every connection of this process, until `stop`. */
export function explainStatements(matching: RegExp): ExplainedStatements {
  const { run, runAll } = PostgresConnection.prototype
  let explained: Explained[] | undefined
  PostgresConnection.prototype.run = async function (text, parameters, millisecondsMax) {
    if (explained !== undefined && matching.test(text)) {
      const given = explained
      const { rows } = await run.call(this, `explain (analyze, buffers, format json) ${text}`, parameters, 60_000)
      type Answer = [{ readonly Plan: PlanNode; readonly 'Execution Time': number }]
      const [{ Plan: plan, 'Execution Time': milliseconds }] = (rows[0] as { readonly 'QUERY PLAN': Answer })[
        'QUERY PLAN'
      ]
      given.push({ text, plan, milliseconds })
    }
    return await run.call(this, text, parameters, millisecondsMax)
  }
  // One by one, each after its plan.
  PostgresConnection.prototype.runAll = async function (statements, millisecondsMax) {
    const outcomes: StatementOutcome[] = []
    try {
      for (const { text, parameters } of statements) outcomes.push(await this.run(text, parameters, millisecondsMax))
      return { outcomes }
    } catch (error) {
      return { outcomes, failure: error as Error }
    }
  }
  return {
    async during(work) {
      explained = []
      const found = explained
      try {
        return { answer: await work(), found }
      } finally {
        explained = undefined
      }
    },
    stop() {
      Object.assign(PostgresConnection.prototype, { run, runAll })
    },
  }
}

/** The records that table scans read, over all loops, the statement's blocks, and the scans themselves. */
export function summaryOf(plan: PlanNode): { rows: number; blocks: number; scans: string[] } {
  let rows = 0
  const scans: string[] = []
  const visit = (node: PlanNode): void => {
    // A bitmap is counted where its records are read.
    if (node['Relation Name'] !== undefined) {
      const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Index Recheck': rechecked = 0 } = node
      rows += (node['Actual Rows'] + filtered + rechecked) * node['Actual Loops']
      scans.push(`${node['Node Type']} ${node['Index Name'] ?? node['Relation Name']}`)
    }
    for (const inner of node.Plans ?? []) visit(inner)
  }
  visit(plan)
  return { rows: Math.round(rows), blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], scans }
}
