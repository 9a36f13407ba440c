/** The settings for gateway processes. */
import { integerOrAuto } from '../setting-kinds.ts'

export const GATEWAY_SETTINGS = {
  'gateway.processes': integerOrAuto({
    initial: 0,
    min: 0,
    max: 64,
    meaning:
      'child processes that serve the stream on `stream.port`, each with its share of the connections. Needs Node.js 22.12 and Linux or FreeBSD. 0 = the main process serves it, `auto` = one less than the cores',
  }),
} as const
