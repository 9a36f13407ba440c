/** The `tidegate doctor` findings which a running service answers. */
import type { ControlsDocument } from '../../money/controls/store.ts'
import type { LedgerState } from '../../money/ledger/upkeep.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { poolFindings } from '../../service/doctor/addresses.ts'
import { bad, type Finding, reasonOf } from '../../service/doctor/finding.ts'
import { ledgerFinding } from '../../service/doctor/ledger.ts'
import { nodeFindings } from '../../service/doctor/nodes.ts'
import { examineSigningKeys, restoredFinding } from '../../service/doctor/store.ts'
import type { NodeDocument } from '../../streaming/cluster/nodes.ts'
import { callOperator, type OperatorApi } from '../admin/operator-client.ts'

type Items<Item> = { readonly items: readonly Item[] }

export function askAddressPools(api: OperatorApi): Promise<Finding[]> {
  return asked<Items<Parameters<typeof poolFindings>[0][number]>>(api, '/address-pool', 'addresses', ({ items }) =>
    poolFindings(items),
  )
}

export function askLedger(api: OperatorApi): Promise<Finding[]> {
  return asked<LedgerState>(api, '/ledger', 'ledger', (state) => [ledgerFinding(state)])
}

export function askControls(api: OperatorApi): Promise<Finding[]> {
  return asked<ControlsDocument>(api, '/controls', 'deliveries', ({ deliveries_paused_because: because }) =>
    because === undefined ? [] : [restoredFinding()],
  )
}

export function askNodes(api: OperatorApi): Promise<Finding[]> {
  return asked<Items<NodeDocument>>(api, '/nodes', 'nodes', ({ items }) => nodeFindings(items))
}

/** The signing keys, by this machine's clock. */
export async function askSigningKeys(api: OperatorApi, clock: Clock): Promise<Finding> {
  try {
    const answer = await callOperator(api, { method: 'GET', path: '/signing-keys' })
    const { items } = answer as Items<Parameters<typeof examineSigningKeys>[0][number]>
    return examineSigningKeys(items, clock.wallInstant().milliseconds)
  } catch (error) {
    return bad('signing key', `cannot be read: ${reasonOf(error)}`, 'see the service’s log')
  }
}

async function asked<Answer>(
  api: OperatorApi,
  path: string,
  name: string,
  findingsOf: (answer: Answer) => Finding[],
): Promise<Finding[]> {
  try {
    return findingsOf((await callOperator(api, { method: 'GET', path })) as Answer)
  } catch (error) {
    return [bad(name, `cannot be read: ${reasonOf(error)}`, 'see the service’s log')]
  }
}
