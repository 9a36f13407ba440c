/** The operator's verbs about usage. */
import { usageCsv } from '../../access/metering/csv.ts'
import type { UsageItem } from '../../access/metering/usage.ts'
import { type AdminNoun, listOf, textOf, timeOf } from './admin-verb.ts'

export const USAGE_NOUNS: readonly AdminNoun[] = [
  {
    name: 'usage',
    description: 'what clients used of the stream and the REST API',
    verbs: [
      {
        usage: 'list',
        isDefault: true,
        description: 'lists usage, summed by customer or as chosen',
        example: 'usage --from 2026-11-01 --group-by customer,day --csv',
        method: 'GET',
        path: '/usage',
        isPaged: true,
        options: [
          { flags: '--from <time>', description: 'start, or a day in UTC (default: the month’s first)' },
          { flags: '--to <time>', description: 'end, not included (default: now)' },
          {
            flags: '--group-by <groups>',
            description: 'customer, client, market, channel, day, hour, separated by commas',
            read: listOf,
          },
          { flags: '--customer <id>', description: 'only this customer', named: 'customer' },
          { flags: '--client <id>', description: 'only this client', named: 'client' },
          { flags: '--csv', description: 'comma-separated values, on a terminal too' },
        ],
        query: ({ options }) => ({
          from: timeOf(options.from),
          to: timeOf(options.to),
          group_by: options.groupBy === undefined ? undefined : (options.groupBy as readonly string[]).join(),
          customers: textOf(options.customer),
          clients: textOf(options.client),
        }),
        otherText: (answer, { csv }) =>
          csv === true ? usageCsv((answer as { readonly items: readonly UsageItem[] }).items) : undefined,
        columns: [
          'customer_name',
          'customer_id',
          'client_id',
          'market',
          'channel',
          'day',
          'hour',
          'messages',
          'bytes',
          'connection_seconds',
          'rest_requests',
          'incomplete',
        ],
      },
    ],
  },
]
