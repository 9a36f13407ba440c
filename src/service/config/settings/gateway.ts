/** The settings for gateway processes. */
import { integerOrAuto } from '../setting-kinds.ts'

export const GATEWAY_SETTINGS = {
  'gateway.processes': integerOrAuto({
    initial: 0,
    min: 0,
    max: 64,
    meaning:
      'processes of this machine that serve the stream, beside the main process, which accepts their connections; 0 = the main process serves it, `auto` = one less than there are cores',
  }),
} as const
