/** The description and example of the operation on usage. Pure. */
export const USAGE_EXAMPLES = {
  listUsage: {
    description:
      'What the customer’s clients used of the stream and the REST API, summed by `group_by`, sorted by the group. It is up ' +
      'to a minute old. Hours are kept for 14 days, then days. With `Accept: text/csv` the answer is CSV, and the header ' +
      '`Tidegate-Next-Page-Cursor` has the next page’s cursor.',
    answered: 'One page of usage',
    answer: {
      items: [
        {
          client_id: '01932b50-2b3c-7d4e-9f50-6b7c8d9eaf06',
          day: '2026-11-20',
          messages: 1_204_331,
          bytes: 310_881_020,
          connection_seconds: 86_400,
          rest_requests: 512,
          incomplete: false,
        },
      ],
    },
  },
}
