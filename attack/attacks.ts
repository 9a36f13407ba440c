/** The list of all attacks, in the order in which they run. */
import type { Attack } from './attack.ts'
import { hostileBodies, rejectedMegabytes } from './bodies.ts'
import { slowReaders, unreadLists } from './lists.ts'
import { malformedMix, rawHttp, streamFrameCases } from './malformed.ts'
import { operatorForeignHosts, operatorOpenHandshakes, operatorResets, operatorTokenGuesses } from './operator.ts'
import { longQueries } from './queries.ts'
import { heldMessages, largeRequests, manyEntries, streamFloods, streamFragments } from './stream.ts'
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
]
