/**
 * Tables of records. On a narrow screen each row becomes a card with the cells' names. A row with a path opens on a
 * click or from the keyboard, where its first cell is the link. The keys j and k move between rows.
 */
import type { ComponentChildren } from 'preact'
import { shown } from '../base/format.ts'
import type { List } from '../base/resource.ts'
import { href, navigate } from '../base/router.ts'
import { Empty, Loading, ProblemNote } from './parts.tsx'

export interface Column<Item> {
  readonly name: string
  readonly show: (item: Item) => ComponentChildren
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean
  /** Takes the space left by other columns. */
  readonly isWide?: boolean
}

export interface TableOptions<Item> {
  readonly caption: string
  readonly columns: readonly Column<Item>[]
  readonly keyOf: (item: Item) => string
  /** The path of a row's page. */
  readonly pathOf?: ((item: Item) => string) | undefined
}

export function Table<Item>({
  caption,
  columns,
  keyOf,
  pathOf,
  items,
}: TableOptions<Item> & { readonly items: readonly Item[] }) {
  return (
    <div class="table-frame">
      <table class={pathOf === undefined ? '' : 'links'}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, isNumber, isWide }) => (
              <th key={name} scope="col" class={`${isNumber ? 'right' : ''} ${isWide ? 'wide' : ''}`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <Row key={keyOf(item)} item={item} columns={columns} path={pathOf?.(item)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row<Item>({
  item,
  columns,
  path,
}: {
  readonly item: Item
  readonly columns: readonly Column<Item>[]
  readonly path: string | undefined
}) {
  const open = (event: MouseEvent) => {
    if (path === undefined || (event.target as Element).closest('a, button, input, label, select') !== null) return
    if (window.getSelection()?.toString()) return
    navigate(path)
  }
  return (
    <tr onClick={open}>
      {columns.map(({ name, show, isNumber }, index) => (
        <td key={name} data-label={name} class={isNumber ? 'right num' : ''}>
          {index === 0 && path !== undefined ? (
            <a class="row-link" href={href(path)}>
              {shown(show(item))}
            </a>
          ) : (
            shown(show(item))
          )}
        </td>
      ))}
    </tr>
  )
}

/** A paginated list, with its problem, its empty state and the button for more. */
export function ListTable<Item>({
  list,
  empty,
  ...table
}: TableOptions<Item> & { readonly list: List<Item>; readonly empty: ComponentChildren }) {
  const { items, problem, hasMore, isLoading, more, reload } = list
  return (
    <>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {items === undefined && problem === undefined && <Loading />}
      {items !== undefined &&
        items.length === 0 &&
        !hasMore &&
        (typeof empty === 'string' ? <Empty title={empty} /> : empty)}
      {items !== undefined && items.length > 0 && <Table {...table} items={items} />}
      {items !== undefined && (items.length > 0 || hasMore) && (
        <footer class="pager">
          <span class="quiet num">
            {items.length} shown{hasMore ? '' : ', all of them'}
          </span>
          {hasMore && (
            <button type="button" onClick={more} disabled={isLoading}>
              {isLoading ? 'Loading' : 'Show more'}
            </button>
          )}
        </footer>
      )}
    </>
  )
}

/** Moves the focus between the page's row links. */
export function moveBetweenRows(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main .row-link')]
  if (rows.length === 0) return
  const present = rows.indexOf(document.activeElement as HTMLElement)
  const next =
    present === -1 ? (step === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, present + step))
  rows[next]?.focus()
}
