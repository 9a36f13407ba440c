/** The console's icons: strokes on a grid of 20, in the colour of the text beside them. */

const PATHS = {
  overview: 'M3 11h5V3H3zM12 17h5V9h-5zM3 17h5v-3H3zM12 6h5V3h-5z',
  markets: 'M3 16V4M3 16h14M6.5 12.5l3-4 3 2.5 4-6',
  customers:
    'M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.5 16.5c0-2.8 2.2-4.5 5-4.5s5 1.7 5 4.5M13 4a2.7 2.7 0 0 1 0 5.3M14.5 12.3c1.9.5 3 2 3 4.2',
  review: 'M4 3.5h9l3 3v10H4zM7 11l2 2 4-4.5',
  plans: 'M3 16.5h4v-4H3zM8 16.5h4v-8H8zM13 16.5h4v-13h-4z',
  usage: 'M3 16.5h14M3 12.5l4-4 3 3 7-7.5',
  money: 'M3 6h14v8.5H3zM10 12.2a2 2 0 1 0 0-4 2 2 0 0 0 0 4M5.5 10.2h.01M14.5 10.2h.01',
  audit: 'M4 4h12M4 8h12M4 12h8M4 16h5',
  settings: 'M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4',
  doctor: 'M3 10.5h3l2-5 4 9 2-4h3',
  operators: 'M10 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6M4 17c.4-3.2 2.8-5 6-5s5.6 1.8 6 5',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M13 13l4 4',
  close: 'M5 5l10 10M15 5L5 15',
  menu: 'M3 5h14M3 10h14M3 15h14',
  back: 'M12 4l-6 6 6 6',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  download: 'M10 3v9M6 8.5l4 4 4-4M4 16.5h12',
  sun: 'M10 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4M10 2v2M10 16v2M2 10h2M16 10h2M4.3 4.3l1.5 1.5M14.2 14.2l1.5 1.5M15.7 4.3l-1.5 1.5M5.8 14.2l-1.5 1.5',
  moon: 'M16.5 12A7 7 0 1 1 8 3.5 5.5 5.5 0 0 0 16.5 12z',
  pause: 'M7 4v12M13 4v12',
  warning: 'M10 3L2.5 16.5h15zM10 8v4M10 14.2v.1',
  check: 'M4 10.5l4 4 8-9',
  plus: 'M10 4v12M4 10h12',
  key: 'M7 13a3.5 3.5 0 1 1 2.9-5.5H17v3h-2v2h-2.5v-2H9.9A3.5 3.5 0 0 1 7 13z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
