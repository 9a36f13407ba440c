/*
 * What a connection missed. The engine in bench/publishing-engine.ts changes one level per message: its price is
 * PRICE_FIRST plus the message's number modulo NUMBERS, in cents. So an UPDATE names the numbers of the messages which it
 * carries. After a connection's first UPDATE, a number in no UPDATE is lost. A heartbeat is missed when the next one
 * arrives more than one and a half periods after the one before.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PRICE_FIRST 50000
#define NUMBERS 500
#define UNKNOWN (-1)

struct losses {
  /* The next message's number. UNKNOWN before the first UPDATE, and after a SNAPSHOT. */
  int next;
  uint64_t heartbeat_at;
};

static struct {
  uint64_t messages, lost, merged, snapshots;
  uint64_t heartbeat_period, heartbeats, heartbeats_missed, heartbeat_gap;
} loss_counts;

static int starts_with(const unsigned char *text, unsigned length, const char *start) {
  size_t wanted = strlen(start);
  return length >= wanted && memcmp(text, start, wanted) == 0;
}

static void note_heartbeat_gap(uint64_t gap) {
  uint64_t period = loss_counts.heartbeat_period;
  if (gap > loss_counts.heartbeat_gap) loss_counts.heartbeat_gap = gap;
  if (2 * gap > 3 * period) loss_counts.heartbeats_missed += (gap + period / 2) / period - 1;
}

/* The digits of a decimal up to its closing quote, without the point. */
static uint64_t digits_of(const unsigned char *text, const unsigned char *end) {
  uint64_t value = 0;
  for (; text < end && *text != '"'; text++)
    if (*text != '.') value = value * 10 + (uint64_t)(*text - '0');
  return value;
}

/* Marks the numbers of the levels, except removed ones. Returns how many there are. */
static int mark_numbers(const unsigned char *text, unsigned length, unsigned char *marks) {
  static const char price_mark[] = "\"price\":\"", amount_mark[] = "\"amount\":\"";
  const unsigned char *at = text, *end = text + length;
  int count = 0;
  while ((at = memmem(at, (size_t)(end - at), price_mark, sizeof price_mark - 1)) != NULL) {
    at += sizeof price_mark - 1;
    uint64_t number = digits_of(at, end) - PRICE_FIRST;
    at = memmem(at, (size_t)(end - at), amount_mark, sizeof amount_mark - 1);
    if (at == NULL) break;
    at += sizeof amount_mark - 1;
    if (number >= NUMBERS || digits_of(at, end) == 0 || marks[number]) continue;
    marks[number] = 1;
    count++;
  }
  return count;
}

static void note_update(struct losses *l, const unsigned char *text, unsigned length) {
  unsigned char marks[NUMBERS] = {0};
  int left = mark_numbers(text, length, marks);
  if (left == 0) return;
  loss_counts.messages += (uint64_t)left;
  loss_counts.merged += (uint64_t)left - 1;
  if (l->next == UNKNOWN)
    for (l->next = 0; !marks[l->next] || marks[(l->next + NUMBERS - 1) % NUMBERS]; l->next++) {
    }
  for (; left > 0; l->next = (l->next + 1) % NUMBERS) {
    if (marks[l->next]) left--;
    else loss_counts.lost++;
  }
}

static void note_losses(struct losses *l, const unsigned char *text, unsigned length, uint64_t now) {
  if (starts_with(text, length, "{\"channel\":\"heartbeat\"")) {
    if (loss_counts.heartbeat_period == 0) return;
    note_heartbeat_gap(now - l->heartbeat_at);
    l->heartbeat_at = now;
    loss_counts.heartbeats++;
  } else if (starts_with(text, length, "{\"channel\":\"market_data\"")) {
    unsigned head = length < 128 ? length : 128;
    if (memmem(text, head, "\"SNAPSHOT\"", 10) != NULL) {
      loss_counts.snapshots++;
      l->next = UNKNOWN;
    } else note_update(l, text, length);
  }
}
