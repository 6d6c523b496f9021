"""Where the paper's data sets come from, on what terms, and the SHA-256 sums their files must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Parameters
    ----------
    name
        How it is called in the archive and in a local copy.
    sha256
        What its bytes must hash to; ``None`` where only the sum of the whole archive is known.
    rows_after
        Only the lines after this one are hashed, whatever their endings: of this file several copies go about that
        differ in their headers alone.
    """

    name: str
    sha256: str | None
    rows_after: str | None = None


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and on what terms.

    Parameters
    ----------
    name
        What :func:`load_dataset` calls it, and the folder of a local copy.
    title
        Its full name.
    url
        The official address of the archive.
    sha256
        What the archive must hash to; ``None`` where the publisher packs it anew now and then, and its files are
        checked one by one.
    files
        The files that are read.
    licence
        The terms of use.
    citation
        What to cite.
    """

    name: str
    title: str
    url: str
    sha256: str | None
    files: tuple[File, ...]
    licence: str
    citation: str


_CC_BY = "CC BY 4.0"
_GROUPLENS = "research use only, no redistribution without permission, no commercial use (GroupLens)"
_MOVIELENS_PAPER = (
    "F. M. Harper and J. A. Konstan (2015), The MovieLens Datasets: History and Context, "
    "ACM Transactions on Interactive Intelligent Systems 5(4), 19, https://doi.org/10.1145/2827872"
)

_ALL = (
    Source(
        name="credit",
        title="Credit Approval (UCI 27)",
        url="https://archive.ics.uci.edu/static/public/27/credit+approval.zip",
        sha256=None,
        files=(File("crx.data", "fff49bc186cbddb3ace7371d40d9fbbb3af4f126019c13ff3f562249b1454f4d"),),
        licence=_CC_BY,
        citation="J. R. Quinlan (1987), Credit Approval, UCI Machine Learning Repository, https://doi.org/10.24432/C5FS30",
    ),
    Source(
        name="occupancy",
        title="Occupancy Detection (UCI 357)",
        url="https://archive.ics.uci.edu/static/public/357/occupancy+detection.zip",
        sha256=None,
        files=(
            File("datatraining.txt", "b2c4d0ce2b9e4e453c476f7125ef31aeec2d1f5c7f5572d0e80de3df6521ab56"),
            File("datatest.txt", "1b92c7c1b2838963464fa891a610cf3c5db4becb7189189b29b330107a584c7f"),
            File("datatest2.txt", "d026d1bd5aeccd4aff4f3b3710d48e40613bd5fc370db7e61bbdcaa50d985095"),
        ),
        licence=_CC_BY,
        citation="L. M. Candanedo and V. Feldheim (2016), Accurate occupancy detection of an office room from light, "
        "temperature, humidity and CO2 measurements, Energy and Buildings 112, 28-39, https://doi.org/10.24432/C5X01N",
    ),
    Source(
        name="votes",
        title="Congressional Voting Records 1984 (UCI 105)",
        url="https://archive.ics.uci.edu/static/public/105/congressional+voting+records.zip",
        sha256=None,
        files=(File("house-votes-84.data", "c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e"),),
        licence=_CC_BY,
        citation="Congressional Voting Records (1987), UCI Machine Learning Repository, https://doi.org/10.24432/C5C01P",
    ),
    Source(
        name="iris",
        title="Iris (UCI 53)",
        url="https://archive.ics.uci.edu/static/public/53/iris.zip",
        sha256=None,
        files=(File("iris.data", "6f608b71a7317216319b4d27b4d9bc84e6abd734eda7872b71a458569e2656c0"),),
        licence=_CC_BY,
        citation="R. A. Fisher (1936), Iris, UCI Machine Learning Repository, https://doi.org/10.24432/C56C76",
    ),
    Source(
        name="website_phishing",
        title="Website Phishing (UCI 379)",
        url="https://archive.ics.uci.edu/static/public/379/website+phishing.zip",
        sha256=None,
        files=(
            File(
                "PhishingData.arff",
                "4a67b9cef70e7b2cba67f22d96b92c791195edf14c8ee11414d8a03ccdbad7ff",
                rows_after="@data",
            ),
        ),
        licence=_CC_BY,
        citation="N. Abdelhamid, A. Ayesh and F. Thabtah (2014), Phishing detection based associative classification "
        "data mining, Expert Systems with Applications 41(13), 5948-5959, https://doi.org/10.24432/C5B301",
    ),
    Source(
        name="movielens_100k",
        title="MovieLens 100K",
        url="https://files.grouplens.org/datasets/movielens/ml-100k.zip",
        sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        files=(
            File("u.data", "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"),
            File("u.item", "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701"),
        ),
        licence=_GROUPLENS,
        citation=_MOVIELENS_PAPER,
    ),
    Source(
        name="movielens_1m",
        title="MovieLens 1M",
        url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
        sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        files=(
            File("ratings.dat", "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f"),
            File("movies.dat", "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9"),
        ),
        licence=_GROUPLENS,
        citation=_MOVIELENS_PAPER,
    ),
    Source(
        name="movielens_10m",
        title="MovieLens 10M",
        url="https://files.grouplens.org/datasets/movielens/ml-10m.zip",
        sha256="813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
        files=(File("ratings.dat", None), File("movies.dat", None)),
        licence=_GROUPLENS,
        citation=_MOVIELENS_PAPER,
    ),
)

SOURCES: Final = {source.name: source for source in _ALL}
"""Every data set by name."""
