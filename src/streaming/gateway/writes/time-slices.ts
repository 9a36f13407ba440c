/**
 * Visits a queue's members until `isOver`, at least one. Members not reached keep their place, and those for which
 * `visit` returns true, because they have more to do, move to the end.
 */
export function visitUntil<Member>(
  queue: Set<Member>,
  visit: (member: Member) => boolean,
  isOver: () => boolean,
): void {
  for (const member of queue) {
    queue.delete(member)
    if (visit(member)) queue.add(member)
    if (isOver()) break
  }
}
