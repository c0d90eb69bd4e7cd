"""Exported folders on the hub: private unless somebody says otherwise, for texts and weights derive from a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from compaug.core.files import InputError

KINDS = {"texts": "dataset", "classifier": "model"}  # folder of an export -> kind of repository
DERIVED = "texts and weights derive from the corpus: its licence, and the people in it, count for them too"


def push(folder: Path, name: str, public: bool = False) -> Iterator[str]:
    """Upload what is in an export's folder, a repository of that name for each kind; yields a line for each.

    InputError, one line, where the hub refuses, and before anything is uploaded where a repository that is to be
    private is there and public.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    kinds = {part: kind for part, kind in KINDS.items() if (folder / part).is_dir()}
    try:
        places = {}
        for part, kind in kinds.items():
            place = api.create_repo(name, repo_type=kind, private=not public, exist_ok=True).repo_id
            places[part] = place, kind, api.repo_info(place, repo_type=kind).private
            if not public and not places[part][2]:
                raise InputError(f"--push {name}: that {kind} is there and public; give --public, or another name")
        for part, (place, kind, is_private) in places.items():
            message = "Exported by compaug"
            api.upload_folder(repo_id=place, repo_type=kind, folder_path=folder / part, commit_message=message)
            yield f"{kind} {place}: {'private' if is_private else 'public'}; {DERIVED}"
    except InputError:
        raise
    except Exception as error:  # of the hub, of the connection, of its library: each has its own
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"--push {name}: {reason}; nothing more was sent; log in with `hf auth login`") from error
