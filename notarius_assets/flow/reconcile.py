"""A registry's candidates to records-to-be: what the owner declared, then what was proposed and may be applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from notarius_assets.flow.extract import state_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.models.calls import Watch
from notarius_assets.models.provider import Proposal, Provider
from notarius_assets.models.window import WindowEnd
from notarius_assets.pipeline import Pipeline
from notarius_assets.prompting import reconciliation_of
from notarius_assets.reconcile.assessment import assess
from notarius_assets.reconcile.declared import Decision
from notarius_assets.reconcile.merges import DECLARED_APART, Merge, apply_declared, apply_groups
from notarius_assets.reconcile.nodes import Node
from notarius_assets.reconcile.request import ReconcileRequest, eligible, requests
from notarius_assets.reconcile.response import ROOT
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Finding, WindowState


@dataclass(frozen=True)
class Question:
    """What a registry asks a proposer: the records-to-be, what was declared of them, the requests for the rest.

    `eligible` counts the records-to-be that may be asked about.
    """

    nodes: tuple[Node, ...]
    declared: tuple[Merge, ...]
    decisions: tuple[Decision, ...]
    requests: tuple[ReconcileRequest, ...]
    eligible: int

    @property
    def alone(self) -> int:
        """How many of them stand in no request, as a part of one is nothing to ask about."""
        return self.eligible - sum(len(request.entries) for request in self.requests)


@dataclass(frozen=True)
class Reconciled:
    """The records-to-be that are left, every union made or refused, and warnings.

    `answers` are how the requests ended. `unanswered` counts those whose proposer could not be reached.
    """

    nodes: tuple[Node, ...]
    merges: tuple[Merge, ...] = ()
    warnings: tuple[Finding, ...] = ()
    answers: tuple[tuple[ReconcileRequest, Proposal], ...] = ()

    @property
    def unanswered(self) -> int:
        """How many requests got no answer at all; asking again may mend that."""
        return sum(p.answer.end is WindowEnd.FAILED for _, p in self.answers)

    @property
    def windows(self) -> list[WindowState]:
        """How the requests ended, as the tables show windows."""
        return [state_of(None, p.answer, len((p.answer.payload or {}).get(ROOT, ()))) for _, p in self.answers]

    @property
    def notes(self) -> Mapping[str, int]:
        """Counts for the attempt."""
        if not self.answers and not self.merges:
            return {}
        made = sum(m.refused is None for m in self.merges)
        return {
            "reconciliation_requests": len(self.answers),
            "reconciliation_unanswered": self.unanswered,
            "merges": made,
            "merges_refused": len(self.merges) - made,
        }


def question_of(
    pipeline: Pipeline, lane: Lane, candidates: Sequence[Candidate], source_id: str, units: tuple[Unit, ...]
) -> Question:
    """Return what a registry asks about these candidates; nothing is asked about fewer than two."""
    mine = tuple(d for d in pipeline.decisions if d.applies(lane.key, source_id))
    nodes, declared = apply_declared(reconciliation_of(lane).nodes(lane.merge(candidates)), mine)
    asked = requests(lane.key, source_id, nodes, units, pipeline.references)
    count = len(eligible(nodes, source_id, units))
    return Question(tuple(nodes), tuple(declared), mine, tuple(asked), count)


def reconcile(lane: Lane, question: Question, model: Provider, watch: Watch) -> Reconciled:
    """Have duplicate groups proposed and apply the safe ones; without a usable proposal the nodes stand as they are."""
    nodes: list[Node] = list(question.nodes)
    merges = list(question.declared)
    warnings = [*_unfound(question), *_undivided(question)]
    contradicted = sum(m.refused is not None for m in question.declared)
    if contradicted:
        warnings.append(Finding("decisions_contradict", detail=f"unions={contradicted}"))
    answers = list(zip(question.requests, model.propose(lane, question.requests, watch), strict=True))
    # of a set that was cut, the last part may be one candidate, about which there is nothing to ask
    if len(answers) > 1 or (question.alone and question.eligible > 1):
        sizes = "+".join(str(len(r.entries)) for r in question.requests)
        detail = f"requests={len(answers)} candidates={sizes or 0} alone={question.alone}"
        warnings.append(Finding("set_cut", detail=detail))
    for request, proposal in answers:
        payload = proposal.answer.payload
        if payload is None:
            what = f"request={request.number} end={proposal.answer.end} reason={proposal.answer.reason}"
            warnings.append(Finding("no_usable_proposal", detail=what))
            continue
        found = assess(payload, request)
        if not found.usable:
            warnings.append(Finding("no_usable_proposal", detail=f"request={request.number} reason=all_groups_refused"))
        nodes, made = apply_groups(nodes, request, payload, found, question.decisions, proposal.reasons)
        merges.extend(made)
        # what the owner keeps apart is no fault of anybody; its row says so
        refused = Counter(m.refused for m in made if m.refused and m.refused != DECLARED_APART)
        warnings.extend(
            Finding("groups_refused", detail=f"request={request.number} reason={reason} groups={count}")
            for reason, count in sorted(refused.items())
        )
    holders = {atom: node for node in nodes for atom in node.atoms}
    settled = tuple(merge.settled(holders) for merge in merges)
    return Reconciled(tuple(nodes), settled, tuple(warnings), tuple(answers))


def _unfound(question: Question) -> list[Finding]:
    """Warn of decisions about this very session that name nobody in it."""
    atoms = [atom for node in question.nodes for atom in node.atoms]
    return [
        Finding("declared_record_not_found", detail=f"reconciliation={decision.entry} form={at}")
        for decision in question.decisions
        if decision.session
        for at, form in enumerate(decision.forms)
        if not any(form.fits(atom) for atom in atoms)
    ]


def _undivided(question: Question) -> list[Finding]:
    """Warn of records that are to stay apart and were proposed as one: what a window unites nothing divides."""
    atoms = [atom for node in question.nodes for atom in node.atoms]
    return [
        Finding("candidate_not_divided", detail=f"reconciliation={decision.entry} unit={atom.refs[0].start_unit_id}")
        for decision in question.decisions
        if not decision.are_one
        for atom in atoms
        if sum(form.fits(atom) for form in set(decision.forms)) > 1
    ]


def of_no_session(workspace: Workspace) -> list[str]:
    """Return a line for each decision about a session that there is none of."""
    slugs = {session.slug for session in workspace.pipeline.sessions()}
    named = {d.session for d in workspace.pipeline.decisions if d.session}
    return [f"a decision of `reconciliation:` names session {name!r}, which is none" for name in sorted(named - slugs)]
