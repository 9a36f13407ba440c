/** The list of all attacks, in their running order. */
import type { Attack } from './attack.ts'
import { hostileBodies, rejectedMegabytes } from './bodies.ts'
import { slowReaders, unreadLists } from './lists.ts'
import { malformedMix, rawHttp, streamFrameCases } from './malformed.ts'
import { operatorForeignHosts, operatorOpenHandshakes, operatorResets, operatorTokenGuesses } from './operator.ts'
import { stalledLog, suspendedProcess } from './process.ts'
import { longQueries } from './queries.ts'
import { creationFloods, poolExhaustion } from './quotas.ts'
import { heldMessages, largeRequests, manyEntries, streamFloods, streamFragments } from './stream.ts'
import { tenantIsolation } from './tenants.ts'
import { tokenClaims } from './token-claims.ts'
import { revocationStorms, tokenFloods, tokenGuesses } from './token-endpoint.ts'
import { tokenForgeries } from './token-forgeries.ts'
import {
  connectionFloods,
  drippedFaults,
  drippedHeads,
  unfinishedBodies,
  unfinishedHeads,
  unfinishedMix,
} from './unfinished.ts'

export const ATTACKS: readonly Attack[] = [
  operatorResets,
  operatorOpenHandshakes,
  operatorForeignHosts,
  operatorTokenGuesses,
  hostileBodies,
  rejectedMegabytes,
  unreadLists,
  slowReaders,
  unfinishedHeads,
  unfinishedBodies,
  unfinishedMix,
  drippedHeads,
  drippedFaults,
  connectionFloods,
  longQueries,
  largeRequests,
  manyEntries,
  streamFragments,
  streamFloods,
  heldMessages,
  streamFrameCases,
  rawHttp,
  malformedMix,
  tokenForgeries,
  tokenClaims,
  tokenGuesses,
  tokenFloods,
  revocationStorms,
  tenantIsolation,
  poolExhaustion,
  creationFloods,
  stalledLog,
  suspendedProcess,
]
