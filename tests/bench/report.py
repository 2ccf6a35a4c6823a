"""Rows of figures: medians, quartiles, ratios to floor and best peer, budgets; as text, JSON, Markdown."""
import json
import statistics
import sys
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Budget:
    """Muster's figure may be at most (at least, when higher is better) `limit` times that of `versus`,
    which is a role or the name of a subject; without `versus`, `limit` itself in the metric's unit."""
    limit: float
    versus: str = ""

    def text(self, metric):
        sign = "≥" if metric.higher else "≤"
        return f"{sign} {self.limit:g}× {self.versus}" if self.versus else f"{sign} {self.limit:g} {metric.unit}"


@dataclass(frozen=True)
class Metric:
    bench: str
    name: str
    unit: str
    higher: bool = False  # higher is better
    budgets: tuple = ()


@dataclass
class Series:
    """All samples of one metric of one subject. Once three were taken in calm, only those count."""
    role: str
    values: list = field(default_factory=list)
    calm: list = field(default_factory=list)

    def used(self):
        undisturbed = [v for v, c in zip(self.values, self.calm) if c]
        return undisturbed if len(undisturbed) >= 3 else self.values

    def quartiles(self):
        used = self.used()
        return statistics.quantiles(used, n=4, method="inclusive") if len(used) > 1 else used * 3


def show(value):
    if value is None:
        return "-"
    if abs(value) >= 10000:
        return f"{value / 1e6:.2f}M" if abs(value) >= 1e6 else f"{value / 1e3:.1f}k"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


class Results:
    def __init__(self):
        self.table = {}  # metric -> subject name -> Series, both in order of first sample

    def add(self, metric, subject, value, calm=True):
        series = self.table.setdefault(metric, {}).setdefault(subject.name, Series(subject.role))
        series.values.append(value)
        series.calm.append(calm)

    def reference(self, metric, versus):
        """(name, median) of the floor, the best peer, or the subject named `versus`; else (None, None)."""
        found = [(name, s.quartiles()[1]) for name, s in self.table[metric].items() if versus in (name, s.role)]
        if not found:
            return None, None
        return (max if metric.higher else min)(found, key=lambda each: each[1])

    def verdicts(self, metric, value):
        """[(budget text, met or None when what it is measured against is missing)]"""
        out = []
        for budget in metric.budgets:
            base = self.reference(metric, budget.versus)[1] if budget.versus else 1
            met = None
            if base is not None:
                met = value >= budget.limit * base if metric.higher else value <= budget.limit * base
            out.append((budget.text(metric), met))
        return out

    def rows(self, bench=None):
        for metric in [m for m in self.table if bench in (None, m.bench)]:
            floor = self.reference(metric, "floor")[1]
            peer, best = self.reference(metric, "peer")
            for name, series in self.table[metric].items():
                low, median, high = series.quartiles()
                yield dict(bench=metric.bench, metric=metric.name, subject=name, role=series.role, value=median,
                           unit=metric.unit, samples=len(series.values), calm=sum(series.calm), median=median,
                           quartile_1=low, quartile_3=high, ratio_to_floor=median / floor if floor else None,
                           ratio_to_best_peer=median / best if best else None, best_peer=peer,
                           budgets=[dict(budget=text, met=met) for text, met in self.verdicts(metric, median)]
                           if series.role == "muster" else [])

    def print_table(self, bench, out=sys.stdout):
        previous = None
        for row in self.rows(bench):
            if row["metric"] != previous:
                previous = row["metric"]
                print(f"\n{bench}: {previous}, {row['unit']}".ljust(53) + "  median   [quartiles]          calm/all"
                      "  ×floor   ×peer  budget", file=out)
            quartiles = f"[{show(row['quartile_1'])}..{show(row['quartile_3'])}]"
            print(f"  {row['subject']:<49} {show(row['median']):>8}   {quartiles:<20} "
                  f"{row['calm']:>4}/{row['samples']:<4}{show(row['ratio_to_floor']):>7} "
                  f"{show(row['ratio_to_best_peer']):>7}  {budget_words(row['budgets'])}", file=out, flush=True)

    def markdown(self):
        """One line per metric that has a budget: what the README shows."""
        lines = ["| What | Muster | floor | best peer | budget | met |", "|---|---|---|---|---|---|"]
        for row in self.rows():
            if not row["budgets"]:
                continue
            metric = next(m for m in self.table if (m.bench, m.name) == (row["bench"], row["metric"]))
            floor = self.reference(metric, "floor")[1]
            peer, best = self.reference(metric, "peer")
            who = "" if row["subject"] == "muster" else f" ({row['subject']})"
            lines.append(f"| {row['bench']}: {row['metric']}{who}, {row['unit']} | {show(row['median'])} | {show(floor)} | "
                         f"{show(best)}{f' ({peer})' if peer else ''} | {'; '.join(b['budget'] for b in row['budgets'])} | "
                         f"{', '.join(yes_no(b['met']) for b in row['budgets'])} |")
        return "\n".join(lines)

    def write_json(self, path, about):
        with open(path, "w", encoding="utf-8") as out:
            json.dump(dict(about, rows=list(self.rows())), out, indent=1, ensure_ascii=False)
            out.write("\n")


def yes_no(met):
    return "nothing to compare with" if met is None else "yes" if met else "NO"


def budget_words(budgets):
    return "; ".join(f"{b['budget']}: {yes_no(b['met'])}" for b in budgets)
