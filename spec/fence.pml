/*
 * Lease, takeover and fence, without any clock: whatever pauses, wherever.
 *
 * A lease may expire in the store at any moment, and whoever holds it may go on believing in it for ever. That covers every
 * pause of a process, every stopped, stepped or drifting clock, and every renewal that came too late. A request that was
 * sent once may be executed at any later time, any number of times, or never; its answer may arrive at any time, or never.
 * Candidates are interchangeable, so the first grant is for candidate 0, and each other one for somebody known or the next.
 *
 * What is checked: nothing is applied by one holder after another one has read or written under a later grant.
 * With LIVE: once faults have stopped, somebody leads and gets a write applied.
 *
 * docs/model.md says which line of code each step is. Variants, each by -D:
 *   NO_FENCE           every write is applied
 *   NOT_LOWER          the fence takes an equal term from anybody
 *   CHECK_THEN_EFFECT  the fence compares in one step, and applies in another
 *   READ_FIRST         a new leader reads before the fence knows its term
 *   NO_FLOOR           the term is a counter alone, without the store's clock below it
 *   SHORT_TAIL         a fail-over loses at most the last grant; else it may lose all
 *   TERM_FIRST         a candidate takes its number before it takes the lease
 *   NO_EXPIRY          (LIVE) a lease lasts until it is given back
 *   KEEPS_REFUSED      (LIVE) a leader that the fence refused keeps its lease
 */

#ifndef CANDIDATES
#define CANDIDATES 3
#endif
#ifdef LIVE
#define FAULTY_GRANTS 2 /* so that two are left for when faults have stopped */
#else
#define FAULTY_GRANTS 4
#endif
#define GRANTS 4
#define each(step) step(1) step(2) step(3) step(4)
#define larger(a, b) ((a) > (b) -> (a) : (b))
#ifdef SEARCH
/* In a search, each is told when it first arises, to show that what is checked does happen. */
#define situation(text) c_code { static int isTold; if (!isTold++) printf("arises: " text); }
#else
#define situation(text) printf(text)
#endif

/* Of each grant, counted from 1 in the order in which they were made: whose it is, its term, how far its holder has come. */
byte grants, owner[GRANTS + 1], term[GRANTS + 1], stage[GRANTS + 1];
#define WAITING 0  /* the candidate waits for the answer */
#define CLAIMING 1 /* it has the lease, and its claim is under way to the fence */
#define CLAIMED 2  /* the fence has answered that its term is installed */
#define WRITING 3  /* it has read what is there, and its write is under way */
#define PASSED 4   /* CHECK_THEN_EFFECT: the fence has let the write pass, and has not applied it yet */
#define WRITTEN 5  /* the write was applied after faults had stopped */
#define OVER 6     /* given up before it was answered, or refused by the fence */

/* Of each candidate: the grant it believes it holds, or 0; the term that was in its way. */
byte lease[CANDIDATES], above[CANDIDATES];
#ifdef TERM_FIRST
byte number[CANDIDATES];
#endif

/* Of the store: the grant that stands, or 0; its counter; what a replica knows of that; its clock. */
byte current, last, replica, clock, failovers = 1;

/* Of the resource. */
byte installedTerm, installedHolder;

/* Of nobody, for the property: the latest grant under which each candidate has read or written. */
byte newest[CANDIDATES];
byte candidatesSeen;

/* Faults have stopped; and since then the leader has got a write applied. */
bool calm, led;

#define isCandidate(p) (p < CANDIDATES && p <= candidatesSeen)
#define of(p) p % CANDIDATES

#define isOvertakenBy(p, g) (p < CANDIDATES && owner[g] != p && newest[of(p)] > g)
#define inOrder(g) !(isOvertakenBy(0, g) || isOvertakenBy(1, g) || isOvertakenBy(2, g))
#define happens(g) newest[owner[g]] = larger(newest[owner[g]], g)

/* ---- a candidate ---- */

#define believes(p) (p < CANDIDATES && p != me && lease[of(p)] != 0)
#define grantAnswered(g) \
  :: d_step { lease[me] == 0 && g <= grants && owner[g] == me && stage[g] == WAITING -> \
       lease[me] = g; stage[g] = CLAIMING; \
       printf("candidate %d believes it has grant %d, and claims\n", me, g); \
       if :: believes(0) || believes(1) || believes(2) -> situation("two believe at once\n") :: else fi }
#define acquisitionGivenUp(g) \
  :: d_step { !calm && g <= grants && owner[g] == me && stage[g] == WAITING -> \
       stage[g] = OVER; \
       printf("candidate %d gives up, and never hears of grant %d\n", me, g) }
#ifdef READ_FIRST
#define MAY_READ CLAIMING
#else
#define MAY_READ CLAIMED
#endif

active [CANDIDATES] proctype Candidate() {
  byte me = _pid;
end:
  do
  each(grantAnswered)
  each(acquisitionGivenUp)
  :: d_step { lease[me] != 0 && stage[lease[me]] == MAY_READ ->
       stage[lease[me]] = WRITING; happens(lease[me]);
       printf("candidate %d reads, and sends its write under grant %d\n", me, lease[me]) }
#ifndef KEEPS_REFUSED
  :: d_step { lease[me] != 0 && stage[lease[me]] == OVER ->
       above[me] = installedTerm; lease[me] = 0;
       printf("candidate %d hears that the fence has refused it\n", me) }
#endif
  /* Its deadline has passed, or a renewal was answered "not yours". Without faults, the latter alone. */
  :: d_step { lease[me] != 0 && (!calm || lease[me] != current) ->
       printf("candidate %d loses grant %d\n", me, lease[me]);
       lease[me] = 0 }
  od
}

/* ---- the store ---- */

#ifdef TERM_FIRST
#define takeNumber(p) \
  :: d_step { isCandidate(p) && number[of(p)] == 0 -> \
       last++; number[of(p)] = last; \
       printf("candidate %d takes the number %d\n", p, last) }
#define hasNumber(p) (number[of(p)] != 0)
#define takeTerm(p) term[grants] = number[of(p)]; number[of(p)] = 0
#else
#define takeNumber(p)
#define hasNumber(p) true
#define takeTerm(p) last = larger(last + 1, larger(clock, above[of(p)] + 1)); term[grants] = last
#endif
#define asks(p) (!calm || lease[of(p)] == 0)
/* An acquisition of p is executed: one it has just sent, or one it gave up long ago. */
#define acquire(p) \
  takeNumber(p) \
  :: d_step { isCandidate(p) && asks(p) && hasNumber(p) && current == 0 && \
              grants < (calm -> GRANTS : FAULTY_GRANTS) -> \
       grants++; current = grants; owner[grants] = p; stage[grants] = WAITING; \
       candidatesSeen = candidatesSeen + (p == candidatesSeen -> 1 : 0); \
       replica = last; takeTerm(p); \
       printf("the store makes grant %d to candidate %d, with term %d\n", grants, p, term[grants]) }
#ifdef NO_EXPIRY
#define mayExpire false
#else
/* Without faults a lease is renewed, unless nobody has it: its answer was lost, or its holder is gone. */
#define mayExpire (!calm || (lease[owner[current]] != current && stage[current] != WAITING))
#endif
#ifdef NO_FLOOR
#define clockOfReplica 0
#else
/* It is past every term that was granted: terms follow the clock, and a fail-over takes longer than they are ahead of it. */
#define clockOfReplica last + 1
#endif

active proctype Store() {
end:
  do
  acquire(0) acquire(1) acquire(2)
  :: d_step { current != 0 && mayExpire ->
       printf("grant %d expires in the store\n", current);
       current = 0 }
  :: atomic { !calm && failovers > 0 ->
       failovers--; current = 0; clock = clockOfReplica;
       if
       :: last = replica
#ifndef SHORT_TAIL
       :: last = 0
#endif
       fi;
       replica = last;
       printf("the store fails over to a replica: the last term it knows is %d\n", last) }
  od
}

/* ---- the fence, and the resource behind it ---- */

#ifdef NO_FENCE
#define passes(g) true
#else
#ifdef NOT_LOWER
#define passes(g) (term[g] >= installedTerm)
#else
#define passes(g) (term[g] > installedTerm || (term[g] == installedTerm && owner[g] == installedHolder))
#endif
#endif

#define install(g) installedTerm = term[g]; installedHolder = owner[g]
/* A refusal is final, since installed terms never fall. */
#define refuse(g) \
       if :: term[g] == installedTerm -> situation("an equal term of another holder is refused\n") :: else fi; \
       stage[g] = OVER
/* What was sent in faulty times may come again, and again. */
#define claimArrives(g) \
  :: d_step { stage[g] == CLAIMING || (!calm && stage[g] > CLAIMING && stage[g] < OVER) -> \
       if \
       :: passes(g) -> install(g); stage[g] = larger(stage[g], CLAIMED); printf("the fence installs term %d of grant %d\n", term[g], g) \
       :: else -> refuse(g); printf("the fence refuses the claim of grant %d\n", g) \
       fi }
#define applyWrite(g) \
       printf("the write of grant %d is applied\n", g); \
       assert(inOrder(g)); happens(g); \
       if :: lease[owner[g]] != g -> situation("a write is applied whose sender has given up\n") :: else fi; \
       if :: term[g] > last -> situation("a write is applied of a grant that the store has forgotten\n") :: else fi; \
       if :: calm -> stage[g] = WRITTEN; led = led || current == g :: else fi
#define refuseWrite(g) \
       refuse(g); printf("the fence refuses the write of grant %d\n", g); situation("a stale write is refused\n")
#ifdef CHECK_THEN_EFFECT
#define writeArrives(g) \
  :: d_step { stage[g] == WRITING -> \
       if :: passes(g) -> install(g); stage[g] = PASSED; printf("the fence lets the write of grant %d pass\n", g) :: else -> refuseWrite(g) fi } \
  :: d_step { stage[g] == PASSED -> stage[g] = WRITING; applyWrite(g) }
#else
#define writeArrives(g) \
  :: d_step { stage[g] == WRITING -> if :: passes(g) -> install(g); applyWrite(g) :: else -> refuseWrite(g) fi }
#endif

active proctype Resource() {
end:
  do
  each(claimArrives)
  each(writeArrives)
  od
}

#ifdef LIVE
active proctype Faults() {
  calm = true;
  printf("faults have stopped\n")
}

ltl somebodyLeads { <> led }
#endif
