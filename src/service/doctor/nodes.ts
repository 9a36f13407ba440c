/** The doctor's findings about the other nodes, as the running service knows them. */
import type { NodeDocument } from '../../streaming/cluster/nodes.ts'
import { type Finding, ok, warn } from './finding.ts'

/** None for a service without other nodes. */
export function nodeFindings(nodes: readonly NodeDocument[]): Finding[] {
  const own = nodes.find(({ self }) => self)
  return nodes.filter(({ self }) => !self).map((node) => nodeFinding(node, own?.version))
}

function nodeFinding(node: NodeDocument, ownVersion: string | undefined): Finding {
  const { state, ready, version, roles, markets, same_definitions: isSame } = node
  const name = `node ${node.name}`
  const what = `${roles.join(', ')}; version ${version}; ${markets} markets`
  if (state === 'silent')
    return warn(name, `${what}; silent since ${node.seen_at}`, 'see whether it runs, and reaches NATS')
  if (!isSame)
    return warn(
      name,
      `${what} with definitions different from this node’s`,
      'give both the same markets, and send each SIGHUP',
    )
  if (!ready) return warn(name, `${what}; not ready`, 'run doctor there')
  return ok(name, version === ownVersion ? `${what}; ready` : `${what}; ready; this node has version ${ownVersion}`)
}
