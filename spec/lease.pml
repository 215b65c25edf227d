/*
 * Lease, renewal and deadline, with clocks that are kept in bounds.
 *
 * Time passes in ticks, at any moment; how long a tick is does not matter. A process may pause anywhere: whether it believes
 * that it has the lease is a fact about its clock, whenever it looks. A request is executed at any time after it was sent,
 * also after its sender gave it up, also twice, or never; its answer arrives at any later time, or never.
 *
 * What is checked: whoever believes that it has the lease does have it in the store. So no two believe at once.
 *
 * docs/model.md says which line of code each step is. Variants, each by -D:
 *   ANCHOR_AT_REPLY  the deadline counts from the answer, instead of from the sending
 *   NO_MARGIN        a holder believes for the whole ttl
 *   CLOCK_STOPS      the clock of a holder stops while its machine is suspended
 *   ANY_RELEASE      the store compares the holder of a release, and not its term
 *   ANY_ANSWER       the answer to an acquisition that was given up counts for the next one
 */

#define TTL 6
#ifdef NO_MARGIN
#define HELD_FOR TTL
#else
#define HELD_FOR 4 /* two thirds */
#endif
/* So many ticks the clock of a holder may miss between the sending of a request and its deadline. */
#ifdef CLOCK_STOPS
#define SLACK TTL
#else
#define SLACK 2
#endif
#define upTo(limit, value) ((value) < (limit) -> (value) : (limit))
#ifdef SEARCH
/* In a search, each is told when it first arises, to show that what is checked does happen. */
#define situation(text) c_code { static int isTold; if (!isTold++) printf("arises: " text); }
#else
#define situation(text) printf(text)
#endif

/* Of the store: who has the lease, and for how many more ticks. */
#define NOBODY 2
byte holder = NOBODY, left;

/* Of each process: whether it has a lease that has not ended, and how old the sending is that its deadline counts from. */
bool alive[2];
byte age[2], missed[2];
#define believes(p) (alive[p] && age[p] < HELD_FOR)
/* The request it waits for, and how old that is. */
byte waitsFor[2], sentAge[2], sentMissed[2];
#define NOTHING 0
#define ACQUIRE 1
#define GRANTED 2
#define RENEW 3
#define RENEWED 4
/* A release is under way of the lease that stands in the store. One of an earlier lease, by its term, does nothing. */
bool releasing[2];
#ifdef ANY_RELEASE
bool hasReleased[2];
#define isReleased(p) hasReleased[p]
#define noteRelease hasReleased[me] = true
#else
#define isReleased(p) releasing[p]
#define noteRelease
#endif
#ifdef ANY_ANSWER
bool hasStaleAnswer[2];
#define noteStaleAnswer(p) hasStaleAnswer[p] = true
#else
#define noteStaleAnswer(p)
#endif

/* ---- a process ---- */

#define send(request) waitsFor[me] = request; sentAge[me] = 0; sentMissed[me] = 0
#define waitNoMore waitsFor[me] = NOTHING; sentAge[me] = 0; sentMissed[me] = 0
#define lose alive[me] = false; age[me] = 0; missed[me] = 0
#define sendRelease releasing[me] = (holder == me); noteRelease
#ifdef ANCHOR_AT_REPLY
#define countFromSending age[me] = 0; missed[me] = 0
#else
#define countFromSending age[me] = sentAge[me]; missed[me] = sentMissed[me]
#endif

active [2] proctype Process() {
  byte me = _pid;
end:
  do
  :: d_step { !alive[me] && waitsFor[me] == NOTHING ->
       send(ACQUIRE);
       printf("process %d sends an acquisition\n", me) }
  :: d_step { waitsFor[me] == GRANTED ->
       if
       :: sentAge[me] < HELD_FOR ->
            alive[me] = true; countFromSending;
            printf("process %d believes that it has the lease\n", me)
       :: else ->
            sendRelease;
            situation("a grant that arrives past its own deadline is given back\n")
       fi;
       waitNoMore }
#ifdef ANY_ANSWER
  :: d_step { waitsFor[me] == ACQUIRE && hasStaleAnswer[me] ->
       alive[me] = true; countFromSending; waitNoMore;
       printf("process %d takes a stale answer for the answer, and believes\n", me) }
#endif
  :: d_step { believes(me) && waitsFor[me] == NOTHING ->
       send(RENEW);
       printf("process %d sends a renewal\n", me) }
  :: d_step { waitsFor[me] == RENEWED ->
       if
       :: believes(me) ->
            countFromSending;
            situation("a renewal is answered in time\n")
       :: else -> situation("a renewal is answered after the deadline, and ignored\n")
       fi;
       waitNoMore }
  :: d_step { waitsFor[me] == ACQUIRE || waitsFor[me] == GRANTED ->
       if :: waitsFor[me] == GRANTED -> noteStaleAnswer(me) :: else fi;
       sendRelease; waitNoMore;
       printf("process %d gives up its acquisition, and sends a release after it\n", me) }
  :: d_step { waitsFor[me] == RENEW || waitsFor[me] == RENEWED ->
       waitNoMore;
       printf("process %d gives up its renewal\n", me) }
  /* For good, whatever is answered from now on. */
  :: d_step { alive[me] && !believes(me) ->
       lose;
       printf("process %d is past its deadline\n", me) }
  :: d_step { believes(me) ->
       lose; sendRelease;
       printf("process %d has stopped its work, and sends a release\n", me) }
  od
}

/* ---- the store ---- */

#define grantTo(p) \
  if :: alive[1 - p] -> situation("a lease is taken over from somebody who has not noticed\n") :: else fi; \
  holder = p; left = TTL; releasing[p] = false; \
  printf("the store grants the lease to process %d\n", p)
#define executes(p) \
  :: d_step { waitsFor[p] == ACQUIRE && holder == NOBODY -> waitsFor[p] = GRANTED; grantTo(p) } \
  :: d_step { waitsFor[p] == RENEW && holder == p -> waitsFor[p] = RENEWED; left = TTL; \
       printf("the store renews the lease of process %d\n", p) } \
  /* And whatever was given up, ever. */ \
  :: d_step { holder == NOBODY -> noteStaleAnswer(p); grantTo(p) } \
  :: d_step { holder == p -> left = TTL; \
       printf("the store executes an old renewal of process %d\n", p) } \
  :: d_step { holder == p && isReleased(p) -> \
       holder = NOBODY; left = 0; \
       printf("the store executes a release of process %d\n", p); \
       if :: waitsFor[p] != NOTHING -> situation("a release is executed while its sender waits anew\n") :: else fi }

active proctype Store() {
end:
  do
  executes(0)
  executes(1)
  od
}

/* ---- time ---- */

#define ifAlive(p, number) (alive[p] -> number : 0)
#define ifWaiting(p, number) (waitsFor[p] != NOTHING -> number : 0)
/* The clock of a process moves with the store's, or misses the tick. */
#define ticks(p) \
  if \
  :: age[p] = upTo(HELD_FOR, age[p] + ifAlive(p, 1)); \
     sentAge[p] = upTo(HELD_FOR, sentAge[p] + ifWaiting(p, 1)) \
  :: (alive[p] || waitsFor[p] != NOTHING) && missed[p] < SLACK && sentMissed[p] < SLACK -> \
     missed[p] = missed[p] + ifAlive(p, 1); \
     sentMissed[p] = sentMissed[p] + ifWaiting(p, 1); \
     printf("the clock of process %d misses a tick\n", p) \
  fi

active proctype Time() {
end:
  do
  :: atomic {
       left = (left > 0 -> left - 1 : 0);
       holder = (left == 0 -> NOBODY : holder);
       printf("a tick: %d left in the store\n", left);
       ticks(0);
       ticks(1) }
  :: assert((!believes(0) || holder == 0) && (!believes(1) || holder == 1))
  od
}
