/**
 * The Grafana dashboard (10 or newer) as a table: a row for each panel with its title, its unit, and its queries with
 * their legends. `npm run build` writes it to `dist/grafana-dashboard.json`. NODE in a query stands for the chosen
 * nodes.
 */

const NODES = 'instance=~"$instance"'
const COLUMNS = 24
const PANEL_ROWS = 8
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' }

const section = (title) => ({ title })
/**
 * `kind` is a series unless given. `redFrom`, `orangeFrom` and `greenFrom` are thresholds, and `isYesNo` shows 0 and 1 as words.
 */
const panel = (title, unit, queries, options = {}) => ({ title, unit, queries, kind: 'timeseries', ...options })

const PANELS = [
  section('Now'),
  panel('Ready', 'short', [['tidegate_ready{NODE}', '{{instance}}']], { kind: 'stat', greenFrom: 1, isYesNo: true }),
  panel('Store', 'short', [['tidegate_store_available{NODE}', '{{instance}}']], {
    kind: 'stat',
    greenFrom: 1,
    isYesNo: true,
  }),
  panel(
    'Markets live',
    'percentunit',
    [
      [
        'sum by (instance) (tidegate_market_live{NODE}) / count by (instance) (tidegate_market_live{NODE})',
        '{{instance}}',
      ],
    ],
    { kind: 'stat', greenFrom: 1 },
  ),
  panel(
    'Wrong books, 24 h',
    'short',
    [
      [
        'sum by (instance) (increase(tidegate_self_audit_mismatches_total{NODE}[24h])) + sum by (instance) (increase(tidegate_invariant_violations_total{NODE}[24h]))',
        '{{instance}}',
      ],
    ],
    { kind: 'stat', description: 'Self-audit mismatches and rejected books', redFrom: 1 },
  ),
  panel('Connections', 'short', [['tidegate_connections{NODE}', '{{instance}}']], { kind: 'stat' }),
  panel('Version', 'short', [['tidegate_build_info{NODE}', '{{instance}} {{version}} on {{node}}']], {
    kind: 'stat',
    shows: 'name',
  }),
  section('Stream'),
  panel('Connections', 'short', [
    ['tidegate_connections{NODE}', '{{instance}} open'],
    ['tidegate_connections_max{NODE}', '{{instance}} limit'],
  ]),
  panel(
    'Connections lagging or not reading',
    'percentunit',
    [
      ['tidegate_connections_behind{NODE} / tidegate_connections{NODE}', '{{instance}} lagging'],
      ['tidegate_connections_not_reading{NODE} / tidegate_connections{NODE}', '{{instance}} not reading'],
    ],
    { description: 'Share of connections above the high-water mark of unsent bytes', redFrom: 0.2 },
  ),
  panel('Send queue', 'bytes', [['tidegate_send_queue_bytes{NODE}', '{{instance}}']], { redFrom: 268435456 }),
  panel('Messages out', 'cps', [
    ['rate(tidegate_messages_out_total{NODE}[$__rate_interval])', '{{instance}} messages'],
    ['rate(tidegate_merged_messages_total{NODE}[$__rate_interval])', '{{instance}} merged'],
    ['rate(tidegate_receipts_signed_total{NODE}[$__rate_interval])', '{{instance}} receipts signed'],
  ]),
  panel('Bytes out', 'Bps', [['rate(tidegate_bytes_out_total{NODE}[$__rate_interval])', '{{instance}}']]),
  panel('Subscriptions', 'short', [
    ['sum by (instance, channel) (tidegate_subscriptions{NODE})', '{{instance}} {{channel}}'],
  ]),
  panel(
    'Delivery: source event to socket write',
    's',
    [
      [
        'histogram_quantile(0.5, sum by (instance, le) (rate(tidegate_delivery_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} p50',
      ],
      [
        'histogram_quantile(0.95, sum by (instance, le) (rate(tidegate_delivery_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} p95',
      ],
      [
        'histogram_quantile(0.99, sum by (instance, le) (rate(tidegate_delivery_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} p99',
      ],
    ],
    { width: 12, redFrom: 0.1 },
  ),
  panel(
    'Closed by the service',
    'cps',
    [['sum by (instance, cause) (rate(tidegate_closes_total{NODE}[$__rate_interval]))', '{{instance}} {{cause}}']],
    { width: 6 },
  ),
  panel(
    'Stream requests that failed',
    'cps',
    [['rate(tidegate_stream_internal_errors_total{NODE}[$__rate_interval])', '{{instance}}']],
    { width: 6, redFrom: 0.001 },
  ),
  section('Market data'),
  panel('Live', 'short', [
    ['tidegate_market_live{NODE}', '{{instance}} {{market}}'],
    ['tidegate_source_live{NODE}', '{{instance}} {{market}} {{source}}'],
    ['tidegate_feed_pair_live{NODE}', '{{instance}} {{venue}} {{symbol}}'],
    ['tidegate_market_simulated{NODE}', '{{instance}} {{market}} simulated'],
  ]),
  panel('Since the last commit', 's', [['tidegate_market_commit_age_seconds{NODE}', '{{instance}} {{market}}']], {
    redFrom: 300,
  }),
  panel('Commits', 'cps', [['rate(tidegate_commits_total{NODE}[$__rate_interval])', '{{instance}} {{market}}']]),
  panel(
    'Message times ahead of the wall clock',
    'ms',
    [['tidegate_clock_lead_milliseconds{NODE}', '{{instance}} {{market}}']],
    { description: 'How far the times in messages are ahead of the wall clock', redFrom: 5000 },
  ),
  panel(
    'Wrong books',
    'short',
    [
      ['increase(tidegate_self_audit_mismatches_total{NODE}[$__rate_interval])', '{{instance}} {{market}} self-audit'],
      ['increase(tidegate_invariant_violations_total{NODE}[$__rate_interval])', '{{instance}} {{market}} refused'],
    ],
    { redFrom: 1 },
  ),
  panel('Audits', 'short', [['increase(tidegate_self_audits_total{NODE}[10m])', '{{instance}} {{market}}']], {
    description: 'Completed audits within 10 minutes',
  }),
  panel(
    'Candles not stored',
    'short',
    [
      ['tidegate_candle_waiting_bars{NODE}', '{{instance}} bars'],
      ['increase(tidegate_candle_write_failures_total{NODE}[$__rate_interval])', '{{instance}} failed writes'],
    ],
    { description: 'Bars with executions that the store does not have yet' },
  ),
  section('Sources'),
  panel('Messages in', 'cps', [
    ['rate(tidegate_feed_messages_total{NODE}[$__rate_interval])', '{{instance}} {{venue}}'],
    ['rate(tidegate_feed_trades_total{NODE}[$__rate_interval])', '{{instance}} {{venue}} {{symbol}} trades'],
  ]),
  panel('Since the last message', 's', [['tidegate_feed_last_message_age_seconds{NODE}', '{{instance}} {{venue}}']], {
    redFrom: 30,
  }),
  panel(
    "Lag: venue's time to arrival",
    's',
    [
      [
        'histogram_quantile(0.5, sum by (instance, venue, le) (rate(tidegate_feed_lag_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} {{venue}} p50',
      ],
      [
        'histogram_quantile(0.99, sum by (instance, venue, le) (rate(tidegate_feed_lag_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} {{venue}} p99',
      ],
    ],
    { redFrom: 2 },
  ),
  panel(
    'Gaps',
    'short',
    [
      ['increase(tidegate_feed_gaps_total{NODE}[$__rate_interval])', '{{instance}} {{venue}} {{symbol}}'],
      [
        'increase(tidegate_feed_checksum_mismatches_total{NODE}[$__rate_interval])',
        '{{instance}} {{venue}} {{symbol}} checksum',
      ],
      ['increase(tidegate_executions_missed_total{NODE}[$__rate_interval])', '{{instance}} {{market}} executions'],
      [
        'increase(tidegate_feed_missed_trades_total{NODE}[$__rate_interval])',
        '{{instance}} {{venue}} {{symbol}} trades missed',
      ],
      [
        'increase(tidegate_feed_unreadable_messages_total{NODE}[$__rate_interval])',
        '{{instance}} {{venue}} unreadable, {{resynchronised}}',
      ],
      [
        'increase(tidegate_feed_silences_total{NODE}[$__rate_interval])',
        '{{instance}} {{venue}} {{symbol}} silent, {{verdict}}',
      ],
      [
        'increase(tidegate_feed_reconciliations_total{result="different",NODE}[$__rate_interval])',
        '{{instance}} {{venue}} {{symbol}} reconciled',
      ],
    ],
    { width: 12 },
  ),
  panel(
    'Reconnects',
    'short',
    [['increase(tidegate_feed_reconnects_total{NODE}[$__rate_interval])', '{{instance}} {{venue}}']],
    { width: 12 },
  ),
  section('Access'),
  panel('Handshakes by answer', 'cps', [
    ['sum by (instance, status) (rate(tidegate_handshakes_total{NODE}[$__rate_interval]))', '{{instance}} {{status}}'],
  ]),
  panel('Token requests', 'reqps', [
    [
      'sum by (instance, result) (rate(tidegate_token_grants_total{NODE}[$__rate_interval]))',
      '{{instance}} {{result}}',
    ],
    [
      'sum by (instance, result) (rate(tidegate_token_revocations_total{NODE}[$__rate_interval]))',
      '{{instance}} revoke: {{result}}',
    ],
    [
      'sum by (instance, result) (rate(tidegate_operator_logins_total{NODE}[$__rate_interval]))',
      '{{instance}} operator login {{result}}',
    ],
  ]),
  panel('HTTP by route and status', 'reqps', [
    [
      'sum by (instance, listener, method, route, status) (rate(tidegate_http_requests_total{NODE}[$__rate_interval]))',
      '{{listener}} {{method}} {{route}} {{status}}',
    ],
  ]),
  panel(
    'HTTP time, p99',
    's',
    [
      [
        'histogram_quantile(0.99, sum by (instance, listener, route, le) (rate(tidegate_http_request_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} {{listener}} {{route}}',
      ],
    ],
    { redFrom: 1 },
  ),
  panel('Requests over a rate', 'reqps', [
    [
      'sum by (instance, listener, route) (rate(tidegate_http_requests_total{NODE, status="429"}[$__rate_interval]))',
      '{{instance}} {{listener}} {{route}}',
    ],
    [
      'sum by (instance, listener, reason) (rate(tidegate_http_connections_cut_total{NODE}[$__rate_interval]))',
      '{{instance}} {{listener}} cut: {{reason}}',
    ],
  ]),
  panel(
    'Certificate ends in',
    's',
    [
      ['tidegate_certificate_end_timestamp_seconds{NODE} - time()', '{{instance}}'],
      ['tidegate_operator_certificate_end_timestamp_seconds{NODE} - time()', '{{instance}} operator listener'],
    ],
    { fromZero: false },
  ),
  section('Store'),
  panel('Statements', 'reqps', [
    [
      'sum by (instance, outcome) (rate(tidegate_store_statement_seconds_count{NODE}[$__rate_interval]))',
      '{{instance}} {{outcome}}',
    ],
  ]),
  panel(
    'Statement time',
    's',
    [
      [
        'histogram_quantile(0.5, sum by (instance, le) (rate(tidegate_store_statement_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} p50',
      ],
      [
        'histogram_quantile(0.99, sum by (instance, le) (rate(tidegate_store_statement_seconds_bucket{NODE}[$__rate_interval])))',
        '{{instance}} p99',
      ],
    ],
    { redFrom: 0.5 },
  ),
  panel('Connections to the store', 'short', [
    ['tidegate_store_turns{NODE}', '{{instance}} {{state}}'],
    ['tidegate_store_corrupt{NODE}', '{{instance}} corrupt'],
    ['tidegate_store_restored{NODE}', '{{instance}} restored'],
    ['increase(tidegate_store_gauge_failures_total{NODE}[$__rate_interval])', '{{instance}} no {{metric}}'],
  ]),
  panel('Directory: age', 's', [['tidegate_directory_age_seconds{NODE}', '{{instance}}']], { width: 6 }),
  panel(
    'Directory: failed reads',
    'short',
    [['increase(tidegate_directory_failures_total{NODE}[$__rate_interval])', '{{instance}}']],
    { width: 6, redFrom: 1 },
  ),
  panel(
    'Directory: reads that changed it',
    'ops',
    [['rate(tidegate_directory_loads_total{NODE}[$__rate_interval])', '{{instance}} {{kind}}']],
    { width: 6 },
  ),
  panel("Clock ahead of the store's", 's', [['tidegate_store_clock_difference_seconds{NODE}', '{{instance}}']], {
    width: 6,
    fromZero: false,
  }),
  section('Process'),
  panel(
    'Event loop',
    's',
    [
      ['nodejs_eventloop_lag_p99_seconds{NODE}', '{{instance}} p99'],
      ['nodejs_eventloop_lag_max_seconds{NODE}', '{{instance}} max'],
    ],
    { description: 'About 10 ms is the resolution of the measurement', redFrom: 0.1 },
  ),
  panel('Processor', 'percentunit', [['rate(process_cpu_seconds_total{NODE}[$__rate_interval])', '{{instance}}']], {
    description: '1 is one core; the loop has no more than one',
    orangeFrom: 0.9,
  }),
  panel('Memory', 'bytes', [
    ['process_resident_memory_bytes{NODE}', '{{instance}} resident'],
    ['nodejs_heap_size_used_bytes{NODE}', '{{instance}} heap'],
    ['nodejs_external_memory_bytes{NODE}', '{{instance}} buffers'],
    ['tidegate_http_unfinished_bytes{NODE}', '{{instance}} {{listener}} unfinished requests'],
  ]),
  panel('Garbage collection', 'percentunit', [
    ['sum by (instance, kind) (rate(nodejs_gc_duration_seconds_sum{NODE}[$__rate_interval]))', '{{instance}} {{kind}}'],
  ]),
  panel('Open files', 'short', [
    ['process_open_fds{NODE}', '{{instance}} open'],
    ['process_max_fds{NODE}', '{{instance}} limit'],
    ['tidegate_http_connections{NODE}', '{{instance}} {{listener}} HTTP connections'],
  ]),
  panel('Checks of readiness', 'short', [['tidegate_ready_check{NODE}', '{{instance}} {{check}}']]),
  panel('Configuration reloads', 'short', [
    ['increase(tidegate_config_reloads_total{NODE}[$__rate_interval])', '{{instance}} {{outcome}}'],
  ]),
  panel('Deposit addresses left', 'short', [['min by (network) (tidegate_address_pool_free{NODE})', '{{network}}']]),
  panel('Creations refused by a quota', 'short', [
    ['sum by (quota) (increase(tidegate_quota_refusals_total{NODE}[$__rate_interval]))', '{{quota}}'],
  ]),
  panel('Usage not in the store', 'short', [
    ['tidegate_usage_rows_unwritten{NODE}', '{{instance}} rows'],
    ['increase(tidegate_usage_write_failures_total{NODE}[$__rate_interval])', '{{instance}} failed writes'],
  ]),
  panel('Log lines dropped', 'short', [
    ['sum by (instance) (increase(tidegate_log_lines_dropped_total{NODE}[$__rate_interval]))', '{{instance}}'],
  ]),
  panel('Unread answers', 'bytes', [['tidegate_http_unread_bytes{NODE}', '{{instance}} {{listener}}']]),
  panel('Connections closed for reading slowly', 'short', [
    [
      'sum by (instance, listener) (increase(tidegate_http_slow_readers_total{NODE}[$__rate_interval]))',
      '{{instance}} {{listener}}',
    ],
  ]),
  section('Conversions'),
  panel(
    'Position of the desk',
    'short',
    [
      ['max by (asset) (tidegate_desk_position{NODE})', '{{asset}}'],
      ['-max by (asset) (tidegate_desk_limit{NODE})', 'limit of {{asset}}'],
    ],
    { width: 12, fromZero: false },
  ),
  panel('Pegs inside their bounds', 'short', [['min by (market) (tidegate_peg_holds{NODE})', '{{market}}']], {
    width: 12,
  }),
  section('Deposits'),
  panel('Deposits by status and disposition', 'short', [
    ['sum by (status, disposition) (increase(tidegate_deposits_total{NODE}[5m]))', '{{status}} {{disposition}}'],
  ]),
  panel('Oldest PENDING deposit', 's', [['max(tidegate_deposit_pending_oldest_seconds{NODE})', 'oldest']]),
  panel('Unattributed deposits, conflicting reports', 'short', [
    ['max(tidegate_deposits_unattributed{NODE})', 'unattributed'],
    ['sum(increase(tidegate_deposit_conflicts_total{NODE}[5m]))', 'conflicts'],
    ['max(tidegate_deposits_in_review{NODE})', 'in review'],
    ['max(tidegate_deliveries_in_review{NODE})', 'payments in review'],
  ]),
  panel('Open screenings', 'short', [
    ['max by (status) (tidegate_screenings_open{NODE})', '{{status}}'],
    ['sum by (outcome) (increase(tidegate_screenings_requests_total{NODE}[5m]))', 'requests {{outcome}}'],
  ]),
  panel('Oldest open screening', 's', [['max by (status) (tidegate_screenings_oldest_seconds{NODE})', '{{status}}']]),
  section('Ledger'),
  panel(
    'Balances that differ from their postings',
    'short',
    [
      ['max by (instance) (tidegate_ledger_imbalance{NODE})', '{{instance}}'],
      ['max by (instance) (tidegate_ledger_comparison_overdue{NODE})', '{{instance}} overdue'],
    ],
    { width: 12 },
  ),
  panel(
    'Since the last complete comparison',
    's',
    [
      ['time() - max by (instance) (tidegate_ledger_compared_timestamp_seconds{NODE} > 0)', '{{instance}} balances'],
      [
        'time() - max by (instance) (tidegate_ledger_transfers_compared_timestamp_seconds{NODE} > 0)',
        '{{instance}} transfers',
      ],
      [
        'time() - max by (instance) (tidegate_ledger_postings_read_timestamp_seconds{NODE} > 0)',
        '{{instance}} postings',
      ],
    ],
    { width: 12 },
  ),
  section('Deliveries (payments)'),
  panel(
    'Deliveries that are not final',
    'short',
    [['max by (status) (tidegate_deliveries_open{NODE})', '{{status}}']],
    { width: 12, fromZero: false },
  ),
  panel(
    'Age of the oldest delivery',
    's',
    [
      ['max by (status) (tidegate_deliveries_oldest_seconds{NODE})', '{{status}}'],
      ['max(tidegate_deliveries_due_seconds{NODE})', 'due and not handed out'],
    ],
    { width: 12, fromZero: false },
  ),
  panel(
    'Requests to the executor',
    'reqps',
    [['sum by (outcome) (rate(tidegate_deliveries_requests_total{NODE}[$__rate_interval]))', '{{outcome}}']],
    { width: 12, fromZero: false },
  ),
  panel(
    'Deliveries settled late',
    'short',
    [['sum(increase(tidegate_deliveries_late_settles_total{NODE}[$__rate_interval]))', 'late settles']],
    { width: 12, fromZero: false },
  ),
  panel('Notices to customers', 'short', [
    ['max(tidegate_notices_oldest_seconds{NODE})', 'oldest unsent, in seconds'],
    ['sum by (channel, outcome) (increase(tidegate_notices_sends_total{NODE}[5m]))', '{{channel}} {{outcome}}'],
  ]),
  panel('Customers’ webhook endpoints', 'short', [
    ['max by (state) (tidegate_webhooks_endpoints{NODE})', '{{state}}'],
    ['sum by (outcome) (increase(tidegate_webhooks_requests_total{NODE}[5m]))', 'requests {{outcome}}'],
  ]),
  panel('Oldest event without a request', 's', [['max(tidegate_webhooks_oldest_seconds{NODE})', 'oldest']]),
  section('Orchestrations'),
  panel('Steps of orchestrations', 'short', [
    ['sum by (result) (increase(tidegate_orchestration_steps_total{NODE}[5m]))', '{{result}}'],
  ]),
  panel('Orchestrations that wait, and work that is due', 'short', [
    ['max by (waiting_for) (tidegate_orchestrations_waiting{NODE})', 'waits for {{waiting_for}}'],
    ['max(tidegate_orchestration_queue_length{NODE})', 'in the queue'],
  ]),
  panel('Oldest waiting orchestration, and work overdue', 's', [
    ['max by (waiting_for) (tidegate_orchestrations_waiting_seconds{NODE})', 'waits for {{waiting_for}}'],
    ['max(tidegate_orchestration_queue_overdue_seconds{NODE})', 'overdue'],
  ]),
  section('Recording'),
  panel(
    'Not recorded for, and stops',
    's',
    [
      ['tidegate_recording_gap_seconds{NODE}', '{{instance}} not recorded for'],
      ['increase(tidegate_recording_stops_total{NODE}[$__rate_interval])', '{{instance}} stops'],
    ],
    { width: 12 },
  ),
  panel(
    'Recorded bytes and entries',
    'short',
    [
      ['rate(tidegate_recording_bytes_total{NODE}[$__rate_interval])', '{{instance}} bytes/s'],
      ['rate(tidegate_recording_entries_total{NODE}[$__rate_interval])', '{{instance}} entries/s'],
    ],
    { width: 12 },
  ),
  section('Ingest'),
  panel(
    'Lines of markets, and publishers',
    'short',
    [
      ['tidegate_ingest_lines{NODE}', '{{instance}} {{market}}'],
      ['tidegate_ingest_publishers{NODE}', '{{instance}} publishers'],
    ],
    { width: 12 },
  ),
  panel(
    'Messages of publishers',
    'short',
    [
      ['rate(tidegate_ingest_messages_total{NODE}[$__rate_interval])', '{{instance}} {{market}} {{outcome}}'],
      ['rate(tidegate_ingest_bytes_total{NODE}[$__rate_interval])', '{{instance}} bytes/s'],
    ],
    { width: 12 },
  ),
  panel(
    'Gaps, conflicts and requested SNAPSHOTs',
    'short',
    [
      ['increase(tidegate_ingest_gaps_total{NODE}[$__rate_interval])', '{{instance}} {{market}} gaps'],
      ['increase(tidegate_ingest_conflicts_total{NODE}[$__rate_interval])', '{{instance}} {{market}} conflicts'],
      ['increase(tidegate_ingest_snapshot_requests_total{NODE}[$__rate_interval])', '{{instance}} {{market}} requests'],
    ],
    { width: 12 },
  ),
  panel(
    'Connections of publishers',
    'short',
    [
      ['increase(tidegate_ingest_handshakes_total{NODE}[$__rate_interval])', '{{instance}} handshakes {{status}}'],
      ['increase(tidegate_ingest_closes_total{NODE}[$__rate_interval])', '{{instance}} closed: {{cause}}'],
    ],
    { width: 12 },
  ),
  panel(
    'Certificate of the ingest listener',
    's',
    [['tidegate_ingest_certificate_end_timestamp_seconds{NODE} - time()', '{{instance}}']],
    { width: 12 },
  ),
  section('Between processes'),
  panel('Gateway processes', 'short', [
    ['tidegate_gateway_processes_ready{NODE}', '{{instance}} ready'],
    ['increase(tidegate_gateway_process_ends_total{NODE}[$__rate_interval])', '{{instance}} ended'],
  ]),
  panel('Losses between processes, and repairs', 'short', [
    [
      'sum by (instance, market) (rate(tidegate_bus_gaps_total{NODE}[$__rate_interval]))',
      '{{instance}} {{market}} lost',
    ],
    [
      'sum by (instance, market) (rate(tidegate_bus_repairs_total{NODE}[$__rate_interval]))',
      '{{instance}} {{market}} repaired',
    ],
  ]),
  panel('Followed markets', 'short', [['tidegate_bus_followed_markets{NODE}', '{{instance}}']]),
  panel('Messages that could not be read', 'short', [
    ['rate(tidegate_bus_malformed_total{NODE}[$__rate_interval])', '{{instance}}'],
    ['rate(tidegate_bus_malformed_requests_total{NODE}[$__rate_interval])', '{{instance}} requests'],
  ]),
  panel('Connection to NATS', 'short', [
    ['tidegate_bus_connected{NODE}', '{{instance}} connected'],
    ['rate(tidegate_bus_dropped_total{NODE}[$__rate_interval])', '{{instance}} dropped'],
    [
      'sum by (instance, market) (rate(tidegate_bus_states_too_large_total{NODE}[$__rate_interval]))',
      '{{instance}} {{market}} too large',
    ],
  ]),
  panel('Nodes', 'short', [
    ['tidegate_nodes{NODE}', '{{instance}} knows'],
    ['tidegate_nodes_differing{NODE}', '{{instance}} differing'],
  ]),
  panel('Leaders of feed groups', 'short', [
    ['tidegate_feed_lease_leader{NODE}', '{{instance}} leads {{feed_group}}'],
    ['tidegate_feed_lease_paused{NODE}', '{{instance}} waits for {{feed_group}}'],
    ['tidegate_feed_lease_epoch{NODE}', '{{instance}} epoch of {{feed_group}}'],
  ]),
  panel('Changes of leaders, and leases that are not renewed', 'short', [
    ['increase(tidegate_feed_lease_taken_total{NODE}[$__rate_interval])', '{{instance}} taken {{feed_group}}'],
    [
      'sum by (instance, feed_group, reason) (increase(tidegate_feed_lease_lost_total{NODE}[$__rate_interval]))',
      '{{instance}} lost {{feed_group}}, {{reason}}',
    ],
    ['tidegate_feed_lease_renewal_age_seconds{NODE}', '{{instance}} seconds since the renewal of {{feed_group}}'],
    ['tidegate_feed_lease_failures{NODE}', '{{instance}} failures, {{feed_group}}'],
  ]),
  panel('Followed books compared with their feeds', 'short', [
    [
      'sum by (instance, market) (rate(tidegate_bus_audits_total{NODE}[$__rate_interval]))',
      '{{instance}} {{market}} compared',
    ],
    [
      'sum by (instance, market) (increase(tidegate_bus_audit_mismatches_total{NODE}[$__rate_interval]))',
      '{{instance}} {{market}} different',
    ],
  ]),
]

function thresholdsOf({ redFrom, orangeFrom, greenFrom }) {
  const steps = [{ color: greenFrom === undefined ? 'green' : 'red', value: null }]
  const next = [
    ['red', redFrom],
    ['orange', orangeFrom],
    ['green', greenFrom],
  ].find(([, value]) => value !== undefined)
  if (next !== undefined) steps.push({ color: next[0], value: next[1] })
  return { mode: 'absolute', steps }
}

function statParts(row) {
  const words = { 0: { text: 'no', index: 0 }, 1: { text: 'yes', index: 1 } }
  return {
    defaults: {
      unit: row.unit,
      color: { mode: 'thresholds' },
      thresholds: thresholdsOf(row),
      mappings: row.isYesNo ? [{ type: 'value', options: words }] : [],
    },
    options: {
      colorMode: 'background',
      graphMode: 'none',
      justifyMode: 'auto',
      orientation: 'auto',
      textMode: row.shows ?? 'auto',
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    },
  }
}

function seriesParts(row) {
  const thresholds = thresholdsOf(row)
  return {
    defaults: {
      unit: row.unit,
      ...(row.fromZero === false ? {} : { min: 0 }),
      color: { mode: 'palette-classic' },
      custom: {
        drawStyle: 'line',
        lineWidth: 1,
        fillOpacity: 10,
        showPoints: 'never',
        spanNulls: false,
        stacking: { mode: 'none', group: 'A' },
        thresholdsStyle: { mode: thresholds.steps.length > 1 ? 'dashed' : 'off' },
      },
      thresholds,
    },
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  }
}

function targetsOf({ queries, kind }) {
  return queries.map(([query, legendFormat], place) => ({
    datasource: DATA_SOURCE,
    editorMode: 'code',
    expr: query.replaceAll('NODE', NODES),
    legendFormat,
    ...(kind === 'stat' ? { instant: true, range: false } : { range: true }),
    refId: String.fromCharCode(65 + place),
  }))
}

/** Panels from left to right, and a new line where the next one does not fit. */
function placedPanels() {
  let [x, y] = [0, 0]
  return PANELS.map((row, place) => {
    const id = place + 1
    if (row.queries === undefined) {
      if (x > 0) y += PANEL_ROWS
      const gridPos = { h: 1, w: COLUMNS, x: 0, y }
      ;[x, y] = [0, y + 1]
      return { id, type: 'row', title: row.title, collapsed: false, gridPos, panels: [] }
    }
    const width = row.width ?? (row.kind === 'stat' ? 4 : 8)
    if (x + width > COLUMNS) [x, y] = [0, y + PANEL_ROWS]
    const gridPos = { h: PANEL_ROWS, w: width, x, y }
    x += width
    const { defaults, options } = row.kind === 'stat' ? statParts(row) : seriesParts(row)
    const { title, description, kind: type } = row
    return {
      id,
      type,
      title,
      ...(description === undefined ? {} : { description }),
      datasource: DATA_SOURCE,
      gridPos,
      fieldConfig: { defaults, overrides: [] },
      options,
      targets: targetsOf(row),
    }
  })
}

/** The dashboard as Grafana imports it. */
export function dashboard() {
  const nodes = 'label_values(tidegate_build_info, instance)'
  return {
    title: 'Tidegate',
    uid: 'tidegate',
    description: 'One or many nodes of Tidegate. What each number means: docs/reference/metrics.md.',
    tags: ['tidegate'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '10s',
    timezone: 'utc',
    time: {
      from: 'now-1h',
      to: 'now',
    },
    links: [],
    annotations: {
      list: [],
    },
    templating: {
      list: [
        {
          name: 'datasource',
          label: 'Data source',
          type: 'datasource',
          query: 'prometheus',
          refresh: 1,
          hide: 0,
          includeAll: false,
          multi: false,
          options: [],
          current: {},
        },
        {
          name: 'instance',
          label: 'Node',
          type: 'query',
          datasource: DATA_SOURCE,
          definition: nodes,
          query: { qryType: 1, query: nodes, refId: 'instance' },
          refresh: 2,
          sort: 1,
          hide: 0,
          includeAll: true,
          multi: true,
          allValue: '.*',
          options: [],
          current: { text: ['All'], value: ['$__all'] },
        },
      ],
    },
    panels: placedPanels(),
  }
}
