/** Events are listed by their sequences, which ascend with their times: the times need no index. */
import type { Migration } from './migration.ts'

export const eventsBySequence: Migration = {
  name: '202611290150-events-by-sequence',
  text: 'drop index events_by_time;',
}
