"""Rules of terms: ``pattern``s with binders, ``rule``s, ``table``s, named ``sets``, ``verify``."""
